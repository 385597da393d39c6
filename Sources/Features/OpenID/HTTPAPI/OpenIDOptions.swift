public import Answers
import Console
public import LiveActivity

/// The provider of OpenID Connect by which people sign in to the console, and the rights of its groups.
public struct OpenIDOptions: Sendable, Hashable {
    /// The rights in an app that a group of the provider's has.
    public struct GroupRights: Sendable, Hashable {
        public var group: String
        public var app: AppKey
        public var scopes: Set<CredentialScope>
        /// Only names that begin so. Nil: all.
        public var namePrefix: String?

        public init(group: String, app: AppKey, scopes: Set<CredentialScope>, namePrefix: String? = nil) {
            (self.group, self.app, self.scopes, self.namePrefix) = (group, app, scopes, namePrefix)
        }
    }

    /// The provider's address, as its ID tokens have it. Nil: the console opens with secrets only.
    public var issuer: String?
    public var clientID: String?
    /// The client's secret at the provider. Nil: a public client, which has none.
    public var clientSecret: String?
    /// On the button that leads to the provider. Nil: the issuer's host.
    public var name: String?
    /// The words of `scope` in the request.
    public var scope = "openid email profile"
    /// The claim of an ID token that has the person's groups: a list of texts, or one text.
    public var groupsClaim = "groups"
    public var access: [GroupRights] = []
    /// How long a session lasts.
    public var sessionLife: Duration = .seconds(8 * 3_600)
    /// PEM file of roots, in place of the system's.
    public var caFile: String?

    public init() {}

    /// The first entry for the app that names one of the groups. A person in several groups has the rights of this one
    /// alone: rights for different prefixes could not be added up.
    func access(of groups: [String], to app: AppKey) -> GroupRights? {
        access.first { entry in entry.app == app && groups.contains { haveSameBytes($0, entry.group) } }
    }

    /// The apps that one of the groups has rights in, in the order of the entries.
    func apps(of groups: [String]) -> [AppKey] {
        access.map(\.app).reduce(into: []) { apps, app in
            if !apps.contains(app), access(of: groups, to: app) != nil { apps.append(app) }
        }
    }

    /// Kept in a session, which ends when the deployment uses another provider or client.
    var proof: String { "\(issuer ?? "") \(clientID ?? "")" }

    var shownName: String { name ?? issuer.map(Self.host) ?? "" }

    private static func host(_ address: String) -> String {
        String(authority(address)?.prefix { $0 != ":" } ?? "")
    }

    /// The host and the port of an address.
    private static func authority(_ address: String) -> Substring? {
        address.firstRange(of: "://").map { address[$0.upperBound...].prefix { !"/?".contains($0) } }
    }

    /// Whether an address may get codes and secrets: `https`, or `http` on this machine, without a user, a fragment or
    /// a blank.
    public static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\\") }),
            !text.contains("#"), let authority = authority(text), !authority.isEmpty, !authority.contains("@")
        else { return false }
        return text.hasPrefix("https://") || text.hasPrefix("http://") && isLocal(text)
    }

    /// Whether the address is of this machine. For tests, and for a provider that a proxy here leads to.
    static func isLocal(_ address: String) -> Bool {
        authority(address).map(ConsoleRequest.isLocal) ?? false
    }
}

extension OpenIDOptions.GroupRights {
    public static let rule = "entries GROUP = APP SCOPES [PREFIX], one a line or with ; between them"

    /// Reads the entries of a setting, such as `editors = shop publish,read match-`. Nil if one is not of this form.
    public static func list(_ text: String) -> [Self]? {
        var found: [Self] = []
        for line in text.split(whereSeparator: { $0 == ";" || $0.isNewline }) where !line.allSatisfy(\.isWhitespace) {
            // A group's name may have any character but these.
            guard let mark = line.ranges(of: " = ").last else { return nil }
            let group = line[..<mark.lowerBound].trimmed
            let words = line[mark.upperBound...].split(separator: " ")
            guard !group.isEmpty, (2...3).contains(words.count), let app = try? AppKey(String(words[0])),
                let scopes = CredentialScope.scopes(String(words[1]))
            else { return nil }
            let prefix = words.count > 2 ? String(words[2]) : nil
            // No name begins with the star that people write behind a prefix.
            if let prefix, (try? ActivityName(prefix)) == nil || prefix.utf8.last == UInt8(ascii: "*") { return nil }
            found.append(Self(group: group, app: app, scopes: scopes, namePrefix: prefix))
        }
        return found.isEmpty ? nil : found
    }
}
