import LiveActivity

/// The kinds of calls. Each has one handler.
enum Operation: Sendable, Hashable, CaseIterable {
    case publish, validate, pushLedger, cancelPush
    case createChannel, updateChannel, channelBatch, tagChannels, associate, disassociate, deviceToken
    case identifyContact, updateContact, remoteData
    case listActivities, activity, track, untrack, bulkTrack
    case startTokens, setStartToken, removeStartToken, bulkStartTokens
    case listDead, deadLetter, retryDead, dropDead
    case listBroadcasts, broadcast, createBroadcast, deleteBroadcast
    case listQuarantine, releaseQuarantine, discardQuarantine
    case describeActivity, listSchemas, schema, setSchema, deleteSchema
    case createSchedules, listSchedules, schedule, replaceSchedule, cancelSchedule
    case health, readiness, metrics

    /// Whether the body may have any length. The handler applies it as it arrives.
    var streamsBody: Bool { self == .bulkTrack || self == .bulkStartTokens }
}

/// The callers that a call admits.
enum Access: Sendable, Hashable {
    case anyone
    case master
    /// App or master secret.
    case server
    /// App or master secret, or the SDK for the channel that the path names (parameter `channel`).
    case channel
    /// App or master secret, or a request that the SDK signed, with or without a channel.
    case newChannel
    /// App or master secret, or a request that the SDK signed for the channel in its header.
    case signedChannel
    /// App or master secret, or the SDK for the contact that the path names (parameter `contact`).
    case contact
}

/// One method at one path.
struct Endpoint: Sendable {
    var method: String
    /// A pattern such as `/api/push/{id}`, shown in logs, metrics and docs.
    var pattern: String
    var operation: Operation
    var access: Access
    /// Whether responses carry Airship's media type.
    var isAirship: Bool
    let segments: [Segment]

    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    init(_ method: String, _ pattern: String, _ operation: Operation, _ access: Access, isAirship: Bool = false) {
        self.method = method
        self.pattern = pattern
        self.operation = operation
        self.access = access
        self.isAirship = isAirship
        segments = pattern.split(separator: "/").map { part in
            part.first == "{" ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// Whether the call has a body of bounded length.
    var readsBody: Bool { !["GET", "DELETE"].contains(method) && !operation.streamsBody }

    var answerType: String { isAirship ? Answer.airshipType : Answer.jsonType }

    /// In order of precedence: a literal path stands before a parameter that would match it too.
    static let all: [Endpoint] = [
        Endpoint("POST", "/api/push", .publish, .master, isAirship: true),
        Endpoint("POST", "/api/push/validate", .validate, .master, isAirship: true),
        Endpoint("GET", "/api/push/{push_id}", .pushLedger, .master),
        Endpoint("DELETE", "/api/push/{push_id}", .cancelPush, .master),
        Endpoint("POST", "/api/schedules", .createSchedules, .master, isAirship: true),
        Endpoint("GET", "/api/schedules", .listSchedules, .master, isAirship: true),
        Endpoint("GET", "/api/schedules/{schedule_id}", .schedule, .master, isAirship: true),
        Endpoint("PUT", "/api/schedules/{schedule_id}", .replaceSchedule, .master, isAirship: true),
        Endpoint("DELETE", "/api/schedules/{schedule_id}", .cancelSchedule, .master, isAirship: true),
        Endpoint("POST", "/api/channels", .createChannel, .newChannel, isAirship: true),
        Endpoint("POST", "/api/channels/tags", .tagChannels, .master, isAirship: true),
        Endpoint("PUT", "/api/channels/sdk/batch/{channel}", .channelBatch, .channel, isAirship: true),
        Endpoint("PUT", "/api/channels/{channel}", .updateChannel, .channel, isAirship: true),
        Endpoint("POST", "/api/named_users/associate", .associate, .server, isAirship: true),
        Endpoint("POST", "/api/named_users/disassociate", .disassociate, .server, isAirship: true),
        Endpoint("GET", "/api/auth/device", .deviceToken, .signedChannel, isAirship: true),
        Endpoint("POST", "/api/contacts/identify/v2", .identifyContact, .signedChannel, isAirship: true),
        Endpoint("POST", "/api/contacts/{contact}", .updateContact, .contact, isAirship: true),
        Endpoint("GET", "/api/remote-data/app/{app_key}/ios", .remoteData, .newChannel, isAirship: true),
        Endpoint("GET", "/api/activities", .listActivities, .master),
        Endpoint("GET", "/api/activities/{name}", .activity, .master),
        Endpoint("PUT", "/api/activities/{name}", .describeActivity, .master),
        Endpoint("POST", "/api/activities/{name}/channels", .bulkTrack, .master),
        Endpoint("PUT", "/api/activities/{name}/channels/{channel}", .track, .channel),
        Endpoint("DELETE", "/api/activities/{name}/channels/{channel}", .untrack, .channel),
        Endpoint("GET", "/api/start-tokens/{attributes_type}", .startTokens, .master),
        Endpoint("POST", "/api/start-tokens/{attributes_type}/channels", .bulkStartTokens, .master),
        Endpoint("PUT", "/api/start-tokens/{attributes_type}/channels/{channel}", .setStartToken, .channel),
        Endpoint("DELETE", "/api/start-tokens/{attributes_type}/channels/{channel}", .removeStartToken, .channel),
        Endpoint("GET", "/api/dead", .listDead, .master),
        Endpoint("GET", "/api/dead/{push_id}", .deadLetter, .master),
        Endpoint("DELETE", "/api/dead/{push_id}", .dropDead, .master),
        Endpoint("POST", "/api/dead/{push_id}/retry", .retryDead, .master),
        Endpoint("GET", "/api/broadcasts", .listBroadcasts, .master),
        Endpoint("PUT", "/api/activities/{name}/broadcast", .createBroadcast, .master),
        Endpoint("GET", "/api/activities/{name}/broadcast", .broadcast, .server),
        Endpoint("DELETE", "/api/activities/{name}/broadcast", .deleteBroadcast, .master),
        Endpoint("GET", "/api/quarantine", .listQuarantine, .master),
        Endpoint("POST", "/api/quarantine/release", .releaseQuarantine, .master),
        Endpoint("POST", "/api/quarantine/discard", .discardQuarantine, .master),
        Endpoint("GET", "/api/schemas", .listSchemas, .master),
        Endpoint("GET", "/api/schemas/{attributes_type}", .schema, .master),
        Endpoint("PUT", "/api/schemas/{attributes_type}", .setSchema, .master),
        Endpoint("DELETE", "/api/schemas/{attributes_type}", .deleteSchema, .master),
        Endpoint("GET", "/healthz", .health, .anyone),
        Endpoint("GET", "/readyz", .readiness, .anyone),
        Endpoint("GET", "/metrics", .metrics, .anyone),
    ]
}

/// The route of a request: a pure function of method and path.
enum RouteMatch: Sendable {
    case found(Endpoint, parameters: [String: String])
    case methodNotAllowed([String])
    /// A call of Airship's API that Lamplighter does not serve.
    case unserved(UnservedPath)
    case notFound
    /// A path component is not percent-encoded UTF-8.
    case malformed

    /// Finds the route of a request.
    ///
    /// - Parameters:
    ///   - method: the HTTP method.
    ///   - path: the path as received, still percent-encoded, so that a name may hold
    ///     `%2F`. One slash at the end is allowed, except where no secret is needed.
    init(method: String, path: Substring) {
        // Split by bytes, because a path may hold UTF-8 that is not percent-encoded.
        var parts = path.parts(between: UInt8(ascii: "/"))
        guard parts.first?.isEmpty == true else {
            self = .notFound
            return
        }
        parts.removeFirst()
        if parts.last?.isEmpty == true { parts.removeLast() }
        guard !parts.isEmpty, !parts.contains(where: \.isEmpty) else {
            self = .notFound
            return
        }
        var components: [String] = []
        for part in parts {
            guard let component = PercentEncoding.decode(part) else {
                self = .malformed
                return
            }
            components.append(component)
        }
        let unserved = UnservedPath.row(method: method, components: components)
        guard let first = Endpoint.all.first(where: { $0.matches(components) }) else {
            self = unserved.map(Self.unserved) ?? .notFound
            return
        }
        // Accept one spelling only for paths that need no secret, because proxies block these by their path.
        guard first.access != .anyone || path == first.pattern[...] else {
            self = .notFound
            return
        }
        let candidates = Endpoint.all.filter { $0.pattern == first.pattern }
        // HEAD is GET without the body of the response.
        let wanted = method == "HEAD" ? "GET" : method
        guard let endpoint = candidates.first(where: { $0.method == wanted }) else {
            if let unserved {
                self = .unserved(unserved)
                return
            }
            let methods = candidates.map(\.method)
            self = .methodNotAllowed(methods.contains("GET") ? methods + ["HEAD"] : methods)
            return
        }
        if let unserved, unserved.isMoreExact(than: endpoint) {
            self = .unserved(unserved)
            return
        }
        self = .found(endpoint, parameters: endpoint.parameters(of: components))
    }
}

extension Endpoint {
    fileprivate func matches(_ components: [String]) -> Bool {
        components.count == segments.count
            && zip(segments, components).allSatisfy { segment, component in
                if case .literal(let text) = segment { text == component } else { true }
            }
    }

    fileprivate func parameters(of components: [String]) -> [String: String] {
        var parameters: [String: String] = [:]
        for (segment, component) in zip(segments, components) {
            if case .parameter(let name) = segment { parameters[name] = component }
        }
        return parameters
    }
}
