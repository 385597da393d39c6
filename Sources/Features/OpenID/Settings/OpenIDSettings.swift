import HTTPAPI
import LiveActivity

extension SettingKey {
    /// A provider needs a client and people who may sign in, and both need a provider.
    static let openID: [SettingKey] = [
        .text(
            \.gateway.openID.issuer, issuer, nil, expected: "https://host or https://host/path",
            parse: { OpenIDOptions.isAddress($0) && !$0.contains("?") ? .some($0) : nil }
        ).help("provider of OpenID Connect by which people sign in to the console; default: secrets only")
            .needs(client, groups),
        .text(\.gateway.openID.clientID, client, nil, expected: plain) { plain($0).map(Optional.some) }
            .help("id that the provider gave this deployment").needs(issuer, groups),
        SettingKey(\Settings.gateway.openID.clientSecret, "console.oidc.client_secret", .text, nil) {
            text, origin, settings in
            guard let secret = plain(text) else {
                return .invalid(key: "console.oidc.client_secret", origin, found: nil, expected: plain)
            }
            settings.gateway.openID.clientSecret = secret
            return nil
        }.orFile().help("secret that the provider gave this deployment; default: a public client, which has none")
            .needs(issuer, client, groups),
        .text(\.gateway.openID.name, "console.oidc.name", nil, expected: plain) { plain($0).map(Optional.some) }
            .help("name of the provider on the button; default: its host"),
        .text(\.gateway.openID.scope, "console.oidc.scope", "openid email profile", expected: "openid and other words")
        {
            $0.split(separator: " ").contains("openid") ? plain($0) : nil
        }.help("what is asked for; a provider may need one more word for groups"),
        .text(\.gateway.openID.groupsClaim, "console.oidc.groups_claim", "groups", expected: plain) { plain($0) }
            .help("claim of the ID token that has the person's groups"),
        .text(
            \.gateway.openID.access, groups, nil, expected: OpenIDOptions.GroupRights.rule,
            parse: OpenIDOptions.GroupRights.list
        ).help("what groups may do: GROUP = APP SCOPES [PREFIX], one a line or with ; between them")
            .needs(issuer, client).shown(lines),
        .time(\.gateway.openID.sessionLife, "console.oidc.session", 60...43_200, "8h")
            .help("how long a session lasts; a person who left a group is out then"),
        .file(\.gateway.openID.caFile, "console.oidc.ca_file")
            .help("PEM roots for the provider; default: those of the system"),
    ].map { $0.of(.gateway).live(.gateway) }

    private static let issuer = "console.oidc.issuer"
    private static let client = "console.oidc.client_id"
    private static let groups = "console.oidc.groups"
    private static let plain = "1 to 512 characters of printable ASCII"

    /// The text as it stands. Nil if it is not printable ASCII.
    private static func plain(_ text: String) -> String? {
        (1...512).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? text : nil
    }

    /// The text without lines that are about other apps.
    private static func lines(_ text: String, of app: AppKey) -> String {
        let lines = text.split { $0 == ";" || $0.isNewline }.map(\.trimmed)
        return lines.filter { line in OpenIDOptions.GroupRights.list(line)?.contains { $0.app == app } == true }
            .joined(separator: "; ")
    }
}
