import LiveActivity

/// A call of Airship's API that Lamplighter does not serve, with advice on what to use instead.
///
/// The response is a 404. After a 5xx Airship's clients and SDK would repeat
/// the request, and a 405 would be about another call.
struct UnservedPath: Sendable, Hashable {
    /// Nil stands for any method.
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

    /// The row for a request, by the decoded components of its path.
    static func row(method: String, components: [String]) -> UnservedPath? {
        byRoot[root(components)]?.first { row in
            (row.method ?? method) == (method == "HEAD" ? "GET" : method) && row.matches(components)
        }
    }

    /// Whether this row has a word where the endpoint has a parameter. For
    /// example `/api/channels/attributes` is not a channel.
    func isMoreExact(than endpoint: Endpoint) -> Bool {
        zip(segments, endpoint.segments).contains { word, segment in
            if case .parameter = segment { word.first != "{" && word != "**" } else { false }
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
}

extension UnservedPath {
    private static let lookUp = "Lamplighter keeps no list of channels. GET /api/activities lists the names."
    private static let attributes =
        "Lamplighter keeps no attributes. Use tags: POST /api/channels/tags."
    private static let lists = "Lamplighter keeps no lists. Use tags: POST /api/channels/tags."
    private static let forget =
        "Use DELETE /api/activities/{name}/channels/{channel} and POST /api/named_users/disassociate."
    private static let platforms = "Lamplighter serves iOS only: POST /api/channels."
    private static let users =
        "Lamplighter keeps a user's channels only: POST /api/named_users/associate and /api/named_users/disassociate."
    private static let templates = "Lamplighter fills in no templates. Send the finished text with POST /api/push."
    private static let push = "Use POST /api/push, or POST /api/schedules for a later time."
    private static let reports = "GET /api/push/{push_id} is the ledger of a push; GET /metrics counts them all."
    private static let contacts =
        "Of contacts Lamplighter serves POST /api/contacts/identify/v2 and POST /api/contacts/{contact}."
    private static let others = "Lamplighter sends Live Activities only."

    static let all: [UnservedPath] =
        channels
        + [
            UnservedPath("GET", "/api/named_users/**", users),
            UnservedPath(nil, "/api/named_users/tags", "Use POST /api/channels/tags with the user's channels."),
            UnservedPath(nil, "/api/named_users/uninstall", forget),
            UnservedPath(nil, "/api/named_users/scoped/**", lists),
            UnservedPath("POST", "/api/named_users/{user}/attributes", attributes),
            UnservedPath("POST", "/api/named_users/{user}", users),
            UnservedPath(nil, "/api/segments/**", "Lamplighter keeps no segments. Put the selectors into `audience`."),
            UnservedPath(nil, "/api/tags/**", "Use POST /api/channels/tags."),
            UnservedPath(nil, "/api/tag-lists/**", "Use POST /api/channels/tags."),
            UnservedPath(nil, "/api/lists/**", lists),
            UnservedPath(nil, "/api/attribute-lists/**", attributes),
            UnservedPath(nil, "/api/subscription_lists/**", lists),
            UnservedPath(nil, "/api/templates/**", templates),
            UnservedPath(nil, "/api/content/**", templates),
            UnservedPath(nil, "/api/feeds/**", templates),
            UnservedPath(nil, "/api/pipelines/**", push),
            UnservedPath(nil, "/api/experiments/**", push),
            UnservedPath(nil, "/api/journeys/**", push),
            UnservedPath(nil, "/api/create-and-send/**", push),
            UnservedPath(nil, "/api/bulk-send/**", push),
            UnservedPath(nil, "/api/bulk/**", push),
            UnservedPath(
                nil, "/api/schedules/{schedule_id}/pause",
                "Use PUT /api/schedules/{schedule_id} for another time, or DELETE."),
            UnservedPath(
                nil, "/api/schedules/{schedule_id}/resume",
                "Use PUT /api/schedules/{schedule_id} for another time, or DELETE."),
            UnservedPath(nil, "/api/schedules/create-and-send", push),
            UnservedPath(nil, "/api/schedules/bulk-send", push),
            UnservedPath(nil, "/api/reports/**", reports),
            UnservedPath(nil, "/api/responses/**", reports),
            UnservedPath(nil, "/api/contacts/associate", contacts),
            UnservedPath(nil, "/api/contacts/attributes", attributes),
            UnservedPath(nil, "/api/contacts/tags", "Use POST /api/channels/tags."),
            UnservedPath(nil, "/api/contacts/**", contacts),
            UnservedPath(
                nil, "/api/remote-data-contact/**",
                "GET /api/remote-data/app/{app_key}/ios tells the SDK not to ask for it."),
            UnservedPath(nil, "/api/regions/**", "Lamplighter knows no places."),
            UnservedPath(nil, "/api/location/**", "Lamplighter knows no places."),
            UnservedPath(nil, "/api/custom-events/**", others),
            UnservedPath(nil, "/api/attachments/**", others),
            UnservedPath(nil, "/api/airmail/**", others),
            UnservedPath(nil, "/api/sms/**", others),
            UnservedPath(nil, "/api/user/**", others),
            UnservedPath(nil, "/warp9/**", "Lamplighter keeps no analytics. Switch the SDK's off."),
            UnservedPath(nil, "/api/device_tokens/**", platforms),
            UnservedPath(nil, "/api/apids/**", platforms),
            UnservedPath(
                nil, "/token", "OAuth is not served: send Basic with the app key and the master secret."),
            UnservedPath(
                nil, "/verify/public_key/**", "OAuth is not served: send Basic with the app key and the master secret."),
        ]

    private static let channels: [UnservedPath] = [
        UnservedPath("GET", "/api/channels", lookUp),
        UnservedPath(nil, "/api/channels/uninstall/**", forget),
        UnservedPath(nil, "/api/channels/attributes/**", attributes),
        UnservedPath(nil, "/api/channels/subscription_lists/**", lists),
        UnservedPath(nil, "/api/channels/email/**", platforms),
        UnservedPath(nil, "/api/channels/sms/**", platforms),
        UnservedPath(nil, "/api/channels/open/**", platforms),
        UnservedPath(nil, "/api/channels/restricted/**", platforms),
        UnservedPath(
            "GET", "/api/channels/{channel}", "GET /api/activities/{name} shows a name and how many follow it."),
    ]
}
