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
