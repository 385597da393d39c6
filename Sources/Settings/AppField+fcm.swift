/// Fields that workers need for FCM.
extension AppField {
    static let ofFCM = [serviceAccountFile, fcmURL, fcmCAFile]

    public static let serviceAccountFile = file(
        "fcm.service_account_file", "the JSON key file of a service account of the app's Firebase project",
        orText: false, live: accountHasPlace
    )
    /// A running worker sends to Android only if it had an account at its start.
    private static let accountHasPlace: Condition = { old, new in old.usesFCM && new.usesFCM }
    public static let fcmURL: AppField = .init(
        "fcm.url", "FCM server other than Google's, such as https://127.0.0.1:8444", .origin, .worker
    ).needs([serviceAccountFile])
    public static let fcmCAFile: AppField = file(
        "fcm.ca_file", "PEM roots for that server and for the account's token endpoint", holds: .roots
    ).needs([serviceAccountFile])
}

extension AppSettings {
    public var usesFCM: Bool { values[.serviceAccountFile] != nil }
    public var fcmOrigin: String { values[.fcmURL] ?? "https://fcm.googleapis.com" }
}
