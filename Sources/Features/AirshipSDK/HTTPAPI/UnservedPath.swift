/// A call of Airship's API that Lamplighter does not serve, with advice on what to use instead. The response is a 404:
/// after a 5xx Airship's clients and SDK would repeat the request, and a 405 would be about another call.
struct UnservedPath: Sendable, Hashable {
    /// The HTTP method. Nil: any method.
    let method: String?
    /// `{x}` stands for one component, and `**` at the end for any number of them, including none.
    let pattern: String
    /// One sentence.
    let advice: String
    private let segments: [Substring]

    init(_ method: String?, _ pattern: String, _ advice: String) {
        self.method = method
        self.pattern = pattern
        self.advice = advice
        segments = pattern.split(separator: "/")
    }

    /// The row for a request, by the decoded components of its path. Nil: the request is none of these, or is better
    /// served by the endpoint of its path.
    static func row(method: String, _ components: [String], near: ForeignAPI.Near?) -> UnservedPath? {
        // HEAD is GET without the body of the response.
        let wanted = method == "HEAD" ? "GET" : method
        let row = byRoot[root(components)]?.first { row in
            (row.method ?? method) == wanted && row.matches(components)
        }
        guard let row, let near else { return row }
        return (near.method == wanted ? row.isMoreExact(than: near.pattern) : !row.isWider(than: near.pattern))
            ? row : nil
    }

    /// Whether this row has a word where the endpoint has a parameter: `/api/channels/attributes` is not a channel.
    private func isMoreExact(than pattern: String) -> Bool {
        zip(segments, pattern.split(separator: "/")).contains { word, segment in
            segment.first == "{" && word.first != "{" && word != "**"
        }
    }

    /// Whether it has a parameter where the endpoint has a word. Then the path is that call's, with another method.
    private func isWider(than pattern: String) -> Bool {
        zip(segments, pattern.split(separator: "/")).contains { word, segment in
            segment.first != "{" && word.first == "{"
        }
    }

    /// Grouped by the first two components, so that a request of another kind looks at no row.
    private static let byRoot = Dictionary(grouping: all) { root($0.segments.filter { $0 != "**" }.map(String.init)) }

    private static func root(_ components: [String]) -> String { components.prefix(2).joined(separator: "/") }

    private func matches(_ components: [String]) -> Bool {
        let isOpen = segments.last == "**"
        let fixed = isOpen ? segments.dropLast() : segments[...]
        guard isOpen ? components.count >= fixed.count : components.count == fixed.count else { return false }
        return zip(fixed, components).allSatisfy { $0.first == "{" || $0 == $1 }
    }

    // A row stands before a wider one that would match too. A path without a method stands for all methods.
    static let all: [UnservedPath] = [
        rows(users, "GET /api/named_users/{user}"),
        rows("Use POST /api/channels/tags.", "/api/tags/**", "/api/tag-lists/**", "/api/contacts/tags"),
        rows(
            "Lamplighter keeps no lists. Use tags: POST /api/channels/tags.", "/api/channels/subscription_lists/**",
            "/api/named_users/scoped/**", "/api/lists/**", "/api/subscription_lists/**"),
        rows(
            "Lamplighter keeps no attributes. Use tags: POST /api/channels/tags.", "/api/channels/attributes/**",
            "POST /api/named_users/{user}/attributes", "/api/attribute-lists/**", "/api/contacts/attributes"),
        rows("Lamplighter keeps no segments. Put the selectors into `audience`.", "/api/segments/**"),
        rows(
            "Lamplighter fills in no templates. Send the finished text with POST /api/push.", "/api/templates/**",
            "/api/content/**", "/api/feeds/**"),
        rows(
            "Use POST /api/push, or POST /api/schedules for a later time.", "/api/pipelines/**", "/api/experiments/**",
            "/api/journeys/**", "/api/create-and-send/**", "/api/bulk-send/**", "/api/bulk/**",
            "/api/schedules/create-and-send", "/api/schedules/bulk-send"),
        rows(
            "Use PUT /api/schedules/{schedule_id} for another time, or DELETE.", "/api/schedules/{schedule_id}/pause",
            "/api/schedules/{schedule_id}/resume"),
        rows(
            "GET /api/push/{push_id} is the ledger of a push; GET /metrics counts them all.", "/api/reports/**",
            "/api/responses/**"),
        rows(
            "Of contacts Lamplighter serves POST /api/contacts/identify/v2 and POST /api/contacts/{contact}.",
            "/api/contacts/associate", "/api/contacts/**"),
        rows(
            "GET /api/remote-data/app/{app_key}/{platform} tells the SDK not to ask for it.",
            "/api/remote-data-contact/**"),
        rows("Lamplighter knows no places.", "/api/regions/**", "/api/location/**"),
        rows(
            "Lamplighter sends Live Activities only.", "/api/custom-events/**", "/api/attachments/**",
            "/api/airmail/**", "/api/sms/**", "/api/user/**"),
        rows("Lamplighter keeps no analytics. Switch the SDK's off.", "/warp9/**", "/api/metered-usage"),
        rows(
            "Lamplighter serves iOS and Android: POST /api/channels.", "/api/device_tokens/**", "/api/apids/**",
            "/api/channels/email/**", "/api/channels/sms/**", "/api/channels/open/**", "/api/channels/restricted/**",
            "/api/channels/resend"),
        rows(
            "OAuth is not served: send Basic with the app key and the master secret.", "/token",
            "/verify/public_key/**"),
    ].flatMap { $0 }

    private static let users =
        "Lamplighter keeps a user's channels and tags: GET /api/named_users?id=…, POST /api/named_users/associate."

    private static func rows(_ advice: String, _ paths: String...) -> [UnservedPath] {
        paths.map { path in
            let words = path.split(separator: " ").map(String.init)
            return UnservedPath(words.count > 1 ? words[0] : nil, words[words.count - 1], advice)
        }
    }
}
