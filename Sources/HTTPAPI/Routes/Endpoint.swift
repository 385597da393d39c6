import Store

/// One method at one path, with the handler of its requests. A new endpoint is a new row of `all`.
final class Endpoint: Sendable {
    enum Handler: Sendable {
        /// A call that needs no secret, so it belongs to no app.
        case open(@Sendable (Handlers) -> () async throws -> Answer)
        case call(@Sendable (Handlers) -> (Call) async throws -> Answer)
    }

    enum Body: Sendable, Hashable {
        case none
        /// A body of bounded length. It is read before the handler runs.
        case whole
        /// A body of any length. The handler reads it line by line.
        case streamed
    }

    enum Segment: Sendable, Hashable {
        case literal(String)
        case parameter(String)
    }

    let method: String
    /// A pattern such as `/api/push/{id}`, shown in logs, metrics and docs.
    let pattern: String
    let access: Access
    /// The scope that a credential needs for the call. The app's two secrets need none. Nil: the call needs no secret,
    /// or no credential opens it.
    let scope: CredentialScope?
    /// Whether the handler itself asks if the credential may touch the names in body or query.
    let checksNames: Bool
    /// False for the probe of liveness, which is always answered.
    let isLimited: Bool
    let body: Body
    let answerType: String
    /// The call's word in the log of actions. Nil: it is not in the log.
    let action: ActionKind?
    let handler: Handler
    let segments: [Segment]

    private init(
        _ method: String, _ pattern: String, _ access: Access, _ scope: CredentialScope?, checksNames: Bool,
        isLimited: Bool, _ body: Body, _ answerType: String, _ action: ActionKind?, _ handler: Handler
    ) {
        (self.method, self.pattern, self.access, self.scope) = (method, pattern, access, scope)
        (self.checksNames, self.isLimited, self.body, self.answerType) = (checksNames, isLimited, body, answerType)
        (self.action, self.handler) = (action, handler)
        segments = pattern.split(separator: "/").map { part in
            part.first == "{" ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }
}

extension Endpoint {
    /// Whether it tells of the deployment, and so may have a port and a secret of its own.
    var isWatched: Bool { pattern == "/readyz" || pattern == "/metrics" }

    /// Whether devices make the call: they register, report tokens and send receipts.
    var isOfDevices: Bool { action == nil && (scope == .track || access == .signedChannel) }

    /// A call of an app. `isAirship` says whether responses carry Airship's media type.
    convenience init(
        _ method: String, _ pattern: String, _ access: Access, _ scope: CredentialScope?,
        _ handle: @escaping @Sendable (Handlers) -> (Call) async throws -> Answer,
        checksNames: Bool = false, acts action: ActionKind? = nil, isAirship: Bool = false, body: Body? = nil
    ) {
        self.init(
            method, pattern, access, scope, checksNames: checksNames, isLimited: true,
            body ?? (["GET", "DELETE"].contains(method) ? .none : .whole),
            isAirship ? Answer.airshipType : Answer.jsonType, action, .call(handle))
    }

    /// A `GET` that needs no secret.
    convenience init(
        open pattern: String, _ handle: @escaping @Sendable (Handlers) -> () async throws -> Answer,
        isLimited: Bool = true
    ) {
        self.init(
            "GET", pattern, .anyone, nil, checksNames: false, isLimited: isLimited, .none, Answer.jsonType, nil,
            .open(handle))
    }

    /// In order of precedence: a literal path stands before a parameter that would match it too.
    static let all: [Endpoint] = [
        Endpoint(
            "POST", "/api/push", .master, .publish, Handlers.publish, checksNames: true, acts: .publish, isAirship: true
        ),
        Endpoint(
            "POST", "/api/push/validate", .master, .publish, Handlers.validate, checksNames: true, isAirship: true),
        Endpoint("GET", "/api/push/{push_id}", .master, .read, Handlers.pushLedger),
        Endpoint("DELETE", "/api/push/{push_id}", .master, .publish, Handlers.cancelPush, acts: .cancelPush),
        Endpoint("GET", "/api/push/{push_id}/content", .master, .read, Handlers.pushContent),
        Endpoint("GET", "/api/push/{push_id}/channels", .master, .read, Handlers.pushChannels),
        Endpoint("GET", "/api/push/{push_id}/trace", .master, .read, Handlers.pushTrace),
        Endpoint("GET", "/api/pushes", .master, .read, Handlers.listPushes, checksNames: true),
        Endpoint("GET", "/api/pushes/sums", .master, .read, Handlers.sumPushes, checksNames: true),
        Endpoint(
            "POST", "/api/schedules", .master, .publish, Handlers.createSchedules, checksNames: true, acts: .schedule,
            isAirship: true),
        Endpoint("GET", "/api/schedules", .master, .read, Handlers.listSchedules, isAirship: true),
        Endpoint("GET", "/api/schedules/{schedule_id}", .master, .read, Handlers.schedule, isAirship: true),
        Endpoint(
            "PUT", "/api/schedules/{schedule_id}", .master, .publish, Handlers.replaceSchedule, checksNames: true,
            acts: .replaceSchedule,
            isAirship: true),
        Endpoint(
            "DELETE", "/api/schedules/{schedule_id}", .master, .publish, Handlers.cancelSchedule, acts: .cancelSchedule,
            isAirship: true),
        Endpoint("GET", "/api/channels", .master, .read, Handlers.listChannels, isAirship: true),
        Endpoint("POST", "/api/channels", .newChannel, .track, Handlers.createChannel, isAirship: true),
        Endpoint(
            "POST", "/api/channels/tags", .master, .track, Handlers.tagChannels, acts: .tagChannels, isAirship: true),
        Endpoint(
            "POST", "/api/channels/uninstall", .master, .track, Handlers.uninstallChannels, acts: .forgetChannels,
            isAirship: true),
        Endpoint(
            "POST", "/api/channels/bulk", .master, .track, Handlers.bulkChannels, acts: .importChannels, body: .streamed
        ),
        Endpoint("PUT", "/api/channels/sdk/batch/{channel}", .channel, .track, Handlers.channelBatch, isAirship: true),
        Endpoint("GET", "/api/channels/{channel}", .master, .read, Handlers.channel, isAirship: true),
        Endpoint("PUT", "/api/channels/{channel}", .channel, .track, Handlers.updateChannel, isAirship: true),
        Endpoint("GET", "/api/named_users", .master, .read, Handlers.namedUser, isAirship: true),
        Endpoint("POST", "/api/named_users/tags", .master, .track, Handlers.tagUsers, acts: .tagUsers, isAirship: true),
        Endpoint(
            "POST", "/api/named_users/uninstall", .master, .track, Handlers.uninstallUsers, acts: .forgetUsers,
            isAirship: true),
        Endpoint("POST", "/api/named_users/associate", .server, .track, Handlers.associate, isAirship: true),
        Endpoint("POST", "/api/named_users/disassociate", .server, .track, Handlers.disassociate, isAirship: true),
        Endpoint(
            "POST", "/api/named_users/{user}", .master, .track, Handlers.updateUser, acts: .changeUser, isAirship: true),
        Endpoint("GET", "/api/auth/device", .signedChannel, nil, Handlers.deviceToken, isAirship: true),
        Endpoint(
            "POST", "/api/contacts/identify/v2", .signedChannel, nil, Handlers.identifyContact, isAirship: true),
        Endpoint("POST", "/api/contacts/{contact}", .contact, .track, Handlers.updateContact, isAirship: true),
        Endpoint(
            "GET", "/api/remote-data/app/{app_key}/ios", .newChannel, .track, Handlers.remoteData, isAirship: true),
        Endpoint("POST", "/api/receipts", .ownChannel, .track, Handlers.countReceipts),
        Endpoint("GET", "/api/activities", .master, .read, Handlers.listActivities),
        Endpoint("GET", "/api/activities/{name}", .master, .read, Handlers.activity),
        Endpoint("PUT", "/api/activities/{name}", .master, .operate, Handlers.describeActivity, acts: .describeName),
        Endpoint("GET", "/api/activities/{name}/channels", .master, .track, Handlers.listFollowers),
        Endpoint(
            "POST", "/api/activities/{name}/channels", .master, .track, Handlers.bulkTrack, acts: .importFollowers,
            body: .streamed),
        Endpoint(
            "DELETE", "/api/activities/{name}/channels", .master, .track, Handlers.removeFollowers,
            acts: .removeFollowers),
        Endpoint("GET", "/api/activities/{name}/channels/{channel}", .master, .read, Handlers.explain),
        Endpoint("PUT", "/api/activities/{name}/channels/{channel}", .channel, .track, Handlers.track),
        Endpoint("DELETE", "/api/activities/{name}/channels/{channel}", .channel, .track, Handlers.untrack),
        Endpoint("GET", "/api/start-tokens/{attributes_type}", .master, .read, Handlers.startTokens),
        Endpoint("GET", "/api/start-tokens/{attributes_type}/channels", .master, .track, Handlers.listFollowers),
        Endpoint(
            "DELETE", "/api/start-tokens/{attributes_type}/channels", .master, .track, Handlers.removeFollowers,
            acts: .removeFollowers),
        Endpoint(
            "POST", "/api/start-tokens/{attributes_type}/channels", .master, .track, Handlers.bulkTrack,
            acts: .importFollowers,
            body: .streamed),
        Endpoint("PUT", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, .track, Handlers.track),
        Endpoint(
            "DELETE", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, .track, Handlers.untrack),
        Endpoint("GET", "/api/dead", .master, .read, Handlers.listDead),
        Endpoint("GET", "/api/dead/{push_id}", .master, .read, Handlers.deadLetter),
        Endpoint("DELETE", "/api/dead/{push_id}", .master, .operate, Handlers.dropDead, acts: .dropDead),
        Endpoint("POST", "/api/dead/{push_id}/retry", .master, .operate, Handlers.retryDead, acts: .retryDead),
        Endpoint("GET", "/api/webhook", .master, .read, Handlers.webhook),
        Endpoint("GET", "/api/webhook/dead", .master, .read, Handlers.listDeadEvents),
        Endpoint("POST", "/api/webhook/retry", .master, .operate, Handlers.retryDeadEvents, acts: .retryEvents),
        Endpoint("POST", "/api/webhook/discard", .master, .operate, Handlers.discardDeadEvents, acts: .discardEvents),
        Endpoint("GET", "/api/broadcasts", .master, .read, Handlers.listBroadcasts),
        Endpoint(
            "PUT", "/api/activities/{name}/broadcast", .master, .operate, Handlers.createBroadcast,
            acts: .createBroadcast),
        Endpoint("GET", "/api/activities/{name}/broadcast", .server, .track, Handlers.broadcast),
        Endpoint(
            "DELETE", "/api/activities/{name}/broadcast", .master, .operate, Handlers.deleteBroadcast,
            acts: .deleteBroadcast),
        Endpoint("GET", "/api/pauses", .master, .read, Handlers.listPauses, checksNames: true),
        Endpoint("POST", "/api/pause", .master, .operate, Handlers.pause, checksNames: true, acts: .pause),
        Endpoint("POST", "/api/resume", .master, .operate, Handlers.resume, checksNames: true, acts: .resume),
        Endpoint("GET", "/api/quarantine", .master, .read, Handlers.listQuarantine),
        Endpoint(
            "POST", "/api/quarantine/release", .master, .operate, Handlers.releaseQuarantine, acts: .releaseQuarantine),
        Endpoint(
            "POST", "/api/quarantine/discard", .master, .operate, Handlers.discardQuarantine, acts: .discardQuarantine),
        Endpoint("GET", "/api/actions", .master, .operate, Handlers.listActions),
        Endpoint("GET", "/api/credentials", .master, .operate, Handlers.listCredentials),
        Endpoint("POST", "/api/credentials", .master, .operate, Handlers.createCredential, acts: .createCredential),
        Endpoint(
            "POST", "/api/credentials/{credential}/rotate", .master, .operate, Handlers.rotateCredential,
            acts: .rotateCredential),
        Endpoint(
            "DELETE", "/api/credentials/{credential}", .master, .operate, Handlers.revokeCredential,
            acts: .revokeCredential),
        Endpoint("GET", "/api/schemas", .master, .read, Handlers.listSchemas),
        Endpoint("GET", "/api/schemas/{attributes_type}", .master, .read, Handlers.schema),
        Endpoint("PUT", "/api/schemas/{attributes_type}", .master, .operate, Handlers.setSchema, acts: .setSchema),
        Endpoint(
            "DELETE", "/api/schemas/{attributes_type}", .master, .operate, Handlers.deleteSchema, acts: .deleteSchema),
        Endpoint(open: "/healthz", Handlers.health, isLimited: false),
        Endpoint(open: "/readyz", Handlers.readiness),
        Endpoint(open: "/openapi.json", Handlers.openAPI),
        Endpoint(open: "/metrics", Handlers.renderMetrics),
    ]

    /// Methods and patterns, as metrics have them.
    static let routes = all.map { (method: $0.method, pattern: $0.pattern) }

    /// `all` by the number of segments: in order of precedence, the endpoints of each pattern.
    static let byLength: [Int: [[Endpoint]]] = {
        var patterns: [String] = []
        for endpoint in all where !patterns.contains(endpoint.pattern) { patterns.append(endpoint.pattern) }
        let groups = patterns.map { pattern in all.filter { $0.pattern == pattern } }
        return Dictionary(grouping: groups) { $0[0].segments.count }
    }()

    func matches(_ components: [String]) -> Bool {
        components.count == segments.count
            && zip(segments, components).allSatisfy { segment, component in
                if case .literal(let text) = segment { text == component } else { true }
            }
    }

    func parameters(of components: [String]) -> [String: String] {
        zip(segments, components).reduce(into: [:]) { parameters, part in
            if case .parameter(let name) = part.0 { parameters[name] = part.1 }
        }
    }
}
