import LiveActivity
import Store

/// A field of one served app. It is set under `apps:` in the file or, for a single app, in the environment.
public enum AppField: String, Sendable, Hashable, CaseIterable {
    case key
    case secret
    case masterSecret = "master_secret"
    case bundleID = "bundle_id"
    case environment = "apns.environment"
    case teamID = "apns.team_id"
    case keyID = "apns.key_id"
    case keyFile = "apns.key_file"
    case nextKeyID = "apns.next_key_id"
    case nextKeyFile = "apns.next_key_file"
    case sandboxKeyID = "apns.sandbox_key_id"
    case sandboxKeyFile = "apns.sandbox_key_file"
    case url = "apns.url"
    case sandboxURL = "apns.sandbox_url"
    case manageURL = "apns.manage_url"
    case caFile = "apns.ca_file"
    case staleAfter = "defaults.stale_after"
    case endAfter = "defaults.end_after"
    case catchUp = "defaults.catch_up"
    case receipts = "defaults.receipts"
    case respectDismissal = "defaults.respect_dismissal"
    case deviceTags = "defaults.device_tags"
    case deviceUsers = "defaults.device_users"
    case approvalFor = "approval.for"
    case expiryStart = "defaults.expiry_start"
    case expiryUpdate = "defaults.expiry_update"
    case expiryEnd = "defaults.expiry_end"
    case maximumPerSecond = "delivery.max_per_second"
    case maximumPerSecondOfPush = "delivery.max_per_second_push"
    case webhookURL = "webhook.url"
    case webhookSecret = "webhook.secret"
    case webhookSecretFile = "webhook.secret_file"
    case webhookEvents = "webhook.events"
    case webhookCAFile = "webhook.ca_file"
    case webhookAllowsPrivate = "webhook.allow_private"
    case webhookAllowsHTTP = "webhook.allow_http"
    case attestationTeamID = "attestation.team_id"
    case attestationBundleID = "attestation.bundle_id"
    case attestationEnvironment = "attestation.environment"
    case attestationRootFile = "attestation.root_file"

    /// The path of the field inside an entry of `apps:`.
    public var path: String { rawValue }
    public var environmentName: String { SettingKey.environmentName(path.hasPrefix("apns.") ? path : "app." + path) }
    /// The address of a webhook often holds a secret of its own.
    public var isSecret: Bool { [.secret, .masterSecret, .webhookURL, .webhookSecret].contains(self) }
    var isPath: Bool {
        Self.keyPairs.contains { $0.file == self }
            || [.caFile, .webhookSecretFile, .webhookCAFile, .attestationRootFile].contains(self)
    }

    /// Its second name: of a secret `…_file`, of a PEM file its text. The secret of a webhook has fields for both.
    var twin: Twin? {
        switch self {
        case .secret, .masterSecret, .webhookURL: .file
        case .keyFile, .nextKeyFile, .sandboxKeyFile, .caFile, .webhookCAFile: .text
        default: nil
        }
    }
    var twinPath: String? { twin?.path(of: path) }
    var twinEnvironmentName: String? {
        twinPath.map { SettingKey.environmentName($0.hasPrefix("apns.") ? $0 : "app." + $0) }
    }

    /// The fields of an APNs key: its id and its file, which need each other.
    public struct KeyPair: Sendable, Hashable {
        public let id: AppField
        public let file: AppField
    }
    public static let firstKey = KeyPair(id: .keyID, file: .keyFile)
    public static let nextKey = KeyPair(id: .nextKeyID, file: .nextKeyFile)
    public static let sandboxKey = KeyPair(id: .sandboxKeyID, file: .sandboxKeyFile)
    static let keyPairs = [firstKey, nextKey, sandboxKey]

    public var summary: String {
        switch self {
        case .key: "the name of the app towards this service: the user of HTTP Basic"
        case .secret: "the password of devices, and the key of their signatures"
        case .masterSecret: "the password of publishers"
        case .bundleID: "the app's bundle id, such as com.example.shop"
        case .environment: "production, sandbox, or both: the sandbox is tried with tokens that production refuses"
        case .teamID: "Apple's team id: ten letters and digits"
        case .keyID: "the id of the APNs key: ten letters and digits"
        case .keyFile: "the .p8 file of that key"
        case .nextKeyID: "the id of a second key, which signs when APNs refuses the first"
        case .nextKeyFile: "the .p8 file of the second key"
        case .sandboxKeyID: "with environment both, the id of the key for the sandbox"
        case .sandboxKeyFile: "the .p8 file of the sandbox's key"
        case .url: "APNs server other than Apple's, such as https://127.0.0.1:8443"
        case .sandboxURL: "with environment both, a sandbox other than Apple's"
        case .manageURL: "server for broadcast channels other than Apple's"
        case .caFile: "PEM roots for that server"
        case .catchUp: "whether the app's devices get the state published before when they begin to follow"
        case .receipts: "whether the app's devices may tell which pushes they show"
        case .respectDismissal: "whether the app's starts leave out those who dismissed the name's card"
        case .deviceTags: "whether the app's devices may set the tags of their channels"
        case .deviceUsers: "whether the app's devices may say whose they are"
        case .endAfter: "time from the start of the app's cards to their automatic end"
        case .approvalFor: "which publishes of the app wait for approval, of callers with the scope propose"
        case .expiryStart: "how long a start of the app without an expiry is tried"
        case .expiryUpdate: "how long an update of the app without an expiry is tried"
        case .expiryEnd: "how long an end of the app without an expiry is tried"
        case .staleAfter: "time to the stale_date of the app's updates that give none"
        case .maximumPerSecond: "the most tokens a second that all workers send to for the app"
        case .maximumPerSecondOfPush: "the same for one push of the app"
        case .webhookURL: "where the app's outgoing events are posted, such as https://hooks.example.com/lamplighter"
        case .webhookSecret: "the key of their signatures"
        case .webhookSecretFile: "a file with the key of their signatures, in place of webhook.secret"
        case .webhookEvents: "which events are posted, with commas between them"
        case .webhookCAFile: "PEM roots for the webhook's server, in place of the system's"
        case .webhookAllowsPrivate: "whether the webhook may be at an address that is not public"
        case .webhookAllowsHTTP: "whether the webhook may be an http:// address"
        case .attestationTeamID: "Apple's team id (App ID prefix) of the app, whose copies get tokens by App Attest"
        case .attestationBundleID: "the bundle id in App Attest, if it is not bundle_id"
        case .attestationEnvironment: "production, or development for builds from Xcode"
        case .attestationRootFile: "a PEM root in place of Apple's, for tests alone"
        }
    }

    /// The rule that the value breaks. Nil if it breaks none.
    public func violation(_ value: String) -> String? {
        func has(_ lengths: ClosedRange<Int>, of isAllowed: (UInt8) -> Bool) -> Bool {
            lengths.contains(value.utf8.count) && value.utf8.allSatisfy(isAllowed)
        }
        func isTime(_ limits: ClosedRange<Double>) -> Bool { TimeText.duration(value).map(limits.contains) == true }
        switch self {
        case .key: return AppKey.isKey(value) ? nil : AppKey.rule
        case .secret, .masterSecret, .webhookSecret:
            return has(8...256, of: { $0 > 0x20 && $0 != 0x7F }) ? nil : "8 to 256 characters without spaces"
        case .bundleID, .attestationBundleID:
            let topic = ".push-type.liveactivity"
            if value.hasSuffix(topic) { return "a bundle id without \(topic)" }
            return has(1...155, of: \.isURLUnreserved) ? nil : "a bundle id such as com.example.shop"
        case .environment:
            return ["production", "sandbox", "both"].contains(value) ? nil : "production, sandbox or both"
        case .attestationEnvironment:
            return ["production", "development"].contains(value) ? nil : "production or development"
        case .teamID, .attestationTeamID, .keyID, .nextKeyID, .sandboxKeyID:
            return has(1...32, of: \.isLetterOrDigit) ? nil : "letters and digits (Apple's have ten)"
        case .url, .sandboxURL, .manageURL:
            let rest = value.hasPrefix("https://") ? value.dropFirst(8) : ""
            return rest.isEmpty || rest.contains("/") || rest.contains(" ")
                ? "https://host or https://host:port, without a path" : nil
        case .keyFile, .nextKeyFile, .sandboxKeyFile, .caFile, .webhookSecretFile, .webhookCAFile,
            .attestationRootFile:
            return nil
        case .webhookURL: return WebhookAddress(value) == nil ? WebhookAddress.rule : nil
        case .webhookEvents:
            return Self.events(value) == nil ? "of \(Self.eventWords.joined(separator: ", ")), with commas" : nil
        case .catchUp, .receipts, .respectDismissal, .deviceTags, .deviceUsers, .webhookAllowsPrivate,
            .webhookAllowsHTTP:
            return ["true", "false"].contains(value) ? nil : "true or false"
        case .approvalFor:
            return ApprovalRule(rawValue: value) == nil
                ? "one of \(ApprovalRule.allCases.map(\.rawValue).joined(separator: ", "))" : nil
        case .expiryStart, .expiryUpdate, .expiryEnd:
            return isTime(1...86_400) ? nil : "a time from 1s to 24h, such as 15m"
        case .maximumPerSecond, .maximumPerSecondOfPush:
            return Int(value).map((0...10_000_000).contains) == true ? nil : "a whole number from 0 to 10000000"
        case .staleAfter, .endAfter:
            return isTime(0...28_800) ? nil : "a time from 0 to 8h, such as 15m"
        }
    }
    /// The words of `webhook.events`. A test event is always posted.
    static let eventWords = OutgoingEvent.Kind.allCases.filter { $0 != .test }.map(\.rawValue)

    static func events(_ text: String) -> Set<OutgoingEvent.Kind>? {
        var kinds: Set<OutgoingEvent.Kind> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let word = word.filter { $0 != " " }
            guard eventWords.contains(word), let kind = OutgoingEvent.Kind(rawValue: word) else { return nil }
            kinds.insert(kind)
        }
        return kinds
    }
}

/// The address of a webhook, as far as it can be judged without asking the name service.
struct WebhookAddress {
    static let rule = "https://host[:port][/path], without user, password or spaces"
    /// `http://` is for tests and for private networks.
    let isHTTPS: Bool

    init?(_ text: String) {
        guard text.utf8.count <= 2_048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        isHTTPS = text.hasPrefix("https://")
        guard isHTTPS || text.hasPrefix("http://") else { return nil }
        let host = text.dropFirst(isHTTPS ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !host.isEmpty, !host.hasPrefix(":"), !host.contains("@") else { return nil }
    }
}
