import FCMClient
import Settings

/// The key file of an app's service account. It is read and checked before the first push.
struct ServiceAccountFile {
    let account: ServiceAccount

    /// - Parameter used: the account in use, which the file's replaces. Nil: none is in use.
    init(_ app: AppSettings, inPlaceOf used: LiveServiceAccount? = nil) throws(SettingsError) {
        let field = AppField.serviceAccountFile
        let file = NamedFile(setting: "\(field.path) of app '\(app.key)'", path: try app.required(field))
        let json = try file.bytes(limit: ServiceAccount.maximumBytes)
        do throws(ServiceAccountError) {
            account = try ServiceAccount(json: json)
            try used?.check(account)
        } catch {
            throw file.failure("is not usable", "\(error)")
        }
    }
}
