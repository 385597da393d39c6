public import Store

/// A webhook. A gateway needs to know which events it gets, and not where it is.
extension AppField {
    static let webhook: [AppField] = [
        webhookURL, webhookSecret, webhookSecretFile, webhookEvents, webhookCAFile, webhookAllowsPrivate,
        webhookAllowsHTTP,
    ]

    /// The address often holds a secret of its own. Which events there are is agreed with Redis's scripts at the start.
    public static let webhookURL = AppField(
        "webhook.url", "where the app's outgoing events are posted, such as https://hooks.example.com/lamplighter",
        Rule(WebhookAddress.rule) { WebhookAddress($0) != nil }, .worker,
        live: { $0.webhookEvents == $1.webhookEvents }
    ).secret(orFile: true).used(by: .gateway) { $0.webhookEvents != $1.webhookEvents }.refused(if: webhookProblems)
    public static let webhookSecret = AppField(
        "webhook.secret", "the key of their signatures", .secret, .worker, live: hadWebhook
    ).secret(orFile: false).needs([webhookURL])
    public static let webhookSecretFile = file(
        "webhook.secret_file", "a file with the key of their signatures, in place of webhook.secret", holds: .secret,
        orText: false, live: hadWebhook
    ).needs([webhookURL])
    public static let webhookEvents = AppField(
        "webhook.events", "which events are posted, with commas between them",
        Rule("of \(eventWords.joined(separator: ", ")), with commas") { events($0) != nil }, .gateway, .worker
    ).needs([webhookURL])
    public static let webhookCAFile = file(
        "webhook.ca_file", "PEM roots for the webhook's server, in place of the system's", holds: .roots,
        live: hadWebhook
    ).needs([webhookURL])
    public static let webhookAllowsPrivate = AppField(
        "webhook.allow_private", "whether the webhook may be at an address that is not public", .flag, .worker,
        live: hadWebhook
    ).needs([webhookURL])
    public static let webhookAllowsHTTP = AppField(
        "webhook.allow_http", "whether the webhook may be an http:// address", .flag, .worker, live: hadWebhook
    ).needs([webhookURL])
    private static let hadWebhook: Condition = { old, _ in old[webhookURL] != nil }

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

    /// Refuses a webhook without a secret or with two, and an address without TLS that was not allowed.
    private static func webhookProblems(_ app: WrittenApp) -> [SettingsError] {
        var problems: [SettingsError] = []
        let (secret, file) = (app.origin(webhookSecret), app.origin(webhookSecretFile))
        if secret == nil, file == nil {
            let remedy = "it is \(webhookSecret.summary); or set \(app.name(webhookSecretFile))"
            problems.append(.missing(key: app.name(webhookSecret), remedy: remedy))
        }
        if secret != nil, let file {
            let reason = "\(app.name(webhookSecret)) is set too: leave one of them"
            problems.append(.conflict(key: app.name(webhookSecretFile), file, reason: reason))
        }
        if app.values[webhookAllowsHTTP] != "true", let url = app.values[webhookURL],
            WebhookAddress(url)?.isHTTPS == false, let origin = app.origin(webhookURL)
        {
            let reason = "it must begin with https://, because events and signatures would be readable on their way; "
            let remedy = "\(app.name(webhookAllowsHTTP)) allows it"
            problems.append(.conflict(key: app.name(webhookURL), origin, reason: reason + remedy))
        }
        return problems
    }
}

extension AppSettings {
    /// The events that the app's webhook gets. Empty: it has no webhook.
    public var webhookEvents: Set<OutgoingEvent.Kind> {
        guard values[.webhookURL] != nil else { return [] }
        return values[.webhookEvents].flatMap(AppField.events)
            ?? Set(OutgoingEvent.Kind.allCases).subtracting([.superseded, .test])
    }
}

extension EventTaker {
    static let webhook = EventTaker { $0.webhookEvents }
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
