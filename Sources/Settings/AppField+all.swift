import LiveActivity
import Store

extension AppField {
    /// All fields of an app, in the order in which they are shown.
    public static let all: [AppField] = ofCore + ofFeatures.joined()

    private static let ofCore: [AppField] =
        [
            key, secret, masterSecret, bundleID, environment, teamID, keyID, keyFile, nextKeyID, nextKeyFile,
            sandboxKeyID, sandboxKeyFile, url, sandboxURL, manageURL, caFile,
        ] + ofFCM + [
            staleAfter, endAfter, catchUp, receipts, respectDismissal, deviceTags, deviceUsers, expiryStart,
            expiryUpdate, expiryEnd, maximumPerSecond, maximumPerSecondOfPush,
        ]

    public static let key = AppField(
        "key", "the name of the app towards this service: the user of HTTP Basic", .appKey, .gateway, .worker)
    public static let secret = AppField(
        "secret", "the password of devices, and the key of their signatures", .secret, .gateway, live: always
    ).secret(orFile: true)
    public static let masterSecret = AppField(
        "master_secret", "the password of publishers", .secret, .gateway, live: always
    ).secret(orFile: true)
    public static let bundleID = AppField(
        "bundle_id", "the app's bundle id, such as com.example.shop", .bundleID, .worker)
}

/// Fields that workers need for APNs.
extension AppField {
    public static let environment = AppField(
        "apns.environment",
        "production, sandbox, or both: the sandbox is tried with tokens that production refuses",
        .words("production", "sandbox", "both"), .worker)
    public static let teamID = AppField(
        "apns.team_id", "Apple's team id: ten letters and digits", .appleID, .worker, live: always)
    public static let keyID = AppField(
        "apns.key_id", "the id of the APNs key: ten letters and digits", .appleID, .worker, live: always)
    public static let keyFile = file("apns.key_file", "the .p8 file of that key", live: always)
    public static let nextKeyID: AppField = .init(
        "apns.next_key_id", "the id of a second key, which signs when APNs refuses the first", .appleID, .worker,
        live: always
    ).needs([nextKeyFile, keyID])
    public static let nextKeyFile: AppField = file("apns.next_key_file", "the .p8 file of the second key", live: always)
        .needs([nextKeyID])
    public static let sandboxKeyID: AppField = .init(
        "apns.sandbox_key_id", "with environment both, the id of the key for the sandbox", .appleID, .worker,
        live: sandboxHasPlace
    ).needs([sandboxKeyFile])
    public static let sandboxKeyFile: AppField = file(
        "apns.sandbox_key_file", "the .p8 file of the sandbox's key", live: sandboxHasPlace
    ).needs([sandboxKeyID])
    /// Keys of its own need a place that a running worker has only if it had them before.
    private static let sandboxHasPlace: Condition = { old, _ in old.otherOrigin != nil }

    public static let url = AppField(
        "apns.url", "APNs server other than Apple's, such as https://127.0.0.1:8443", .origin, .worker)
    public static let sandboxURL = AppField(
        "apns.sandbox_url", "with environment both, a sandbox other than Apple's", .origin, .worker)
    public static let manageURL = AppField(
        "apns.manage_url", "server for broadcast channels other than Apple's", .origin, .worker)
    public static let caFile = file("apns.ca_file", "PEM roots for that server", holds: .roots)
}

/// Fields that take the place of the deployment's setting.
extension AppField {
    public static let staleAfter = AppField(
        "defaults.stale_after", "time to the stale_date of the app's updates that give none", .age, .gateway,
        live: always)
    public static let endAfter = AppField(
        "defaults.end_after", "time from the start of the app's cards to their automatic end", .age, .gateway, .worker,
        live: always)
    public static let catchUp = AppField(
        "defaults.catch_up", "whether the app's devices get the state published before when they begin to follow",
        .flag, .gateway, live: always)
    public static let receipts = AppField(
        "defaults.receipts", "whether the app's devices may tell which pushes they show", .flag, .gateway, live: always)
    public static let respectDismissal = AppField(
        "defaults.respect_dismissal", "whether the app's starts leave out those who dismissed the name's card", .flag,
        .gateway, live: always)
    public static let deviceTags = AppField(
        "defaults.device_tags", "whether the app's devices may set the tags of their channels", .flag, .gateway,
        live: always)
    public static let deviceUsers = AppField(
        "defaults.device_users", "whether the app's devices may say whose they are", .flag, .gateway, live: always)
    public static let expiryStart = AppField(
        "defaults.expiry_start", "how long a start of the app without an expiry is tried", .expiry, .gateway,
        live: always)
    public static let expiryUpdate = AppField(
        "defaults.expiry_update", "how long an update of the app without an expiry is tried", .expiry, .gateway,
        live: always)
    public static let expiryEnd = AppField(
        "defaults.expiry_end", "how long an end of the app without an expiry is tried", .expiry, .gateway, live: always)
    public static let maximumPerSecond = AppField(
        "delivery.max_per_second", "the most tokens a second that all workers send to for the app", .rate, .worker,
        live: always)
    public static let maximumPerSecondOfPush = AppField(
        "delivery.max_per_second_push", "the same for one push of the app", .rate, .worker, live: always)
}
