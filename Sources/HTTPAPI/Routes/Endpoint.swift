/// One method at one path, with the handler of its requests. A new endpoint is a new row of `all`.
struct Endpoint: Sendable {
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
    /// False for the probe of liveness, which is always answered.
    let isLimited: Bool
    let body: Body
    let answerType: String
    /// What a call is in the log of actions. Nil: it is not in it.
    let action: ActionKind?
    let handler: Handler
    let segments: [Segment]
}

extension Endpoint {
    /// A call of an app. `isAirship` says whether responses carry Airship's media type.
    init(
        _ method: String, _ pattern: String, _ access: Access,
        _ handle: @escaping @Sendable (Handlers) -> (Call) async throws -> Answer,
        acts action: ActionKind? = nil, isAirship: Bool = false, body: Body? = nil
    ) {
        self.init(
            method: method, pattern: pattern, access: access, isLimited: true,
            body: body ?? (["GET", "DELETE"].contains(method) ? .none : .whole),
            answerType: isAirship ? Answer.airshipType : Answer.jsonType, action: action, handler: .call(handle),
            segments: Self.segments(pattern))
    }

    /// A `GET` that needs no secret.
    init(
        open pattern: String, _ handle: @escaping @Sendable (Handlers) -> () async throws -> Answer,
        isLimited: Bool = true
    ) {
        self.init(
            method: "GET", pattern: pattern, access: .anyone, isLimited: isLimited, body: .none,
            answerType: Answer.jsonType, action: nil, handler: .open(handle), segments: Self.segments(pattern))
    }

    private static func segments(_ pattern: String) -> [Segment] {
        pattern.split(separator: "/").map { part in
            part.first == "{" ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }

    /// In order of precedence: a literal path stands before a parameter that would match it too.
    static let all: [Endpoint] = [
        Endpoint("POST", "/api/push", .master, Handlers.publish, acts: .publish, isAirship: true),
        Endpoint("POST", "/api/push/validate", .master, Handlers.validate, isAirship: true),
        Endpoint("GET", "/api/push/{push_id}", .master, Handlers.pushLedger),
        Endpoint("DELETE", "/api/push/{push_id}", .master, Handlers.cancelPush, acts: .cancelPush),
        Endpoint("GET", "/api/push/{push_id}/content", .master, Handlers.pushContent),
        Endpoint("GET", "/api/push/{push_id}/channels", .master, Handlers.pushChannels),
        Endpoint("GET", "/api/push/{push_id}/trace", .master, Handlers.pushTrace),
        Endpoint("GET", "/api/pushes", .master, Handlers.listPushes),
        Endpoint("GET", "/api/pushes/sums", .master, Handlers.sumPushes),
        Endpoint("POST", "/api/schedules", .master, Handlers.createSchedules, acts: .schedule, isAirship: true),
        Endpoint("GET", "/api/schedules", .master, Handlers.listSchedules, isAirship: true),
        Endpoint("GET", "/api/schedules/{schedule_id}", .master, Handlers.schedule, isAirship: true),
        Endpoint(
            "PUT", "/api/schedules/{schedule_id}", .master, Handlers.replaceSchedule, acts: .replaceSchedule,
            isAirship: true),
        Endpoint(
            "DELETE", "/api/schedules/{schedule_id}", .master, Handlers.cancelSchedule, acts: .cancelSchedule,
            isAirship: true),
        Endpoint("GET", "/api/channels", .master, Handlers.listChannels, isAirship: true),
        Endpoint("POST", "/api/channels", .newChannel, Handlers.createChannel, isAirship: true),
        Endpoint("POST", "/api/channels/tags", .master, Handlers.tagChannels, acts: .tagChannels, isAirship: true),
        Endpoint(
            "POST", "/api/channels/uninstall", .master, Handlers.uninstallChannels, acts: .forgetChannels,
            isAirship: true),
        Endpoint("POST", "/api/channels/bulk", .master, Handlers.bulkChannels, acts: .importChannels, body: .streamed),
        Endpoint("PUT", "/api/channels/sdk/batch/{channel}", .channel, Handlers.channelBatch, isAirship: true),
        Endpoint("GET", "/api/channels/{channel}", .master, Handlers.channel, isAirship: true),
        Endpoint("PUT", "/api/channels/{channel}", .channel, Handlers.updateChannel, isAirship: true),
        Endpoint("GET", "/api/named_users", .master, Handlers.namedUser, isAirship: true),
        Endpoint("POST", "/api/named_users/tags", .master, Handlers.tagUsers, acts: .tagUsers, isAirship: true),
        Endpoint(
            "POST", "/api/named_users/uninstall", .master, Handlers.uninstallUsers, acts: .forgetUsers, isAirship: true),
        Endpoint("POST", "/api/named_users/associate", .server, Handlers.associate, isAirship: true),
        Endpoint("POST", "/api/named_users/disassociate", .server, Handlers.disassociate, isAirship: true),
        Endpoint("POST", "/api/named_users/{user}", .master, Handlers.updateUser, acts: .changeUser, isAirship: true),
        Endpoint("GET", "/api/auth/device", .signedChannel, Handlers.deviceToken, isAirship: true),
        Endpoint("POST", "/api/contacts/identify/v2", .signedChannel, Handlers.identifyContact, isAirship: true),
        Endpoint("POST", "/api/contacts/{contact}", .contact, Handlers.updateContact, isAirship: true),
        Endpoint("GET", "/api/remote-data/app/{app_key}/ios", .newChannel, Handlers.remoteData, isAirship: true),
        Endpoint("POST", "/api/receipts", .ownChannel, Handlers.countReceipts),
        Endpoint("GET", "/api/activities", .master, Handlers.listActivities),
        Endpoint("GET", "/api/activities/{name}", .master, Handlers.activity),
        Endpoint("PUT", "/api/activities/{name}", .master, Handlers.describeActivity, acts: .describeName),
        Endpoint("GET", "/api/activities/{name}/channels", .master, Handlers.listFollowers),
        Endpoint(
            "POST", "/api/activities/{name}/channels", .master, Handlers.bulkTrack, acts: .importFollowers,
            body: .streamed),
        Endpoint(
            "DELETE", "/api/activities/{name}/channels", .master, Handlers.removeFollowers, acts: .removeFollowers),
        Endpoint("GET", "/api/activities/{name}/channels/{channel}", .master, Handlers.explain),
        Endpoint("PUT", "/api/activities/{name}/channels/{channel}", .channel, Handlers.track),
        Endpoint("DELETE", "/api/activities/{name}/channels/{channel}", .channel, Handlers.untrack),
        Endpoint("GET", "/api/start-tokens/{attributes_type}", .master, Handlers.startTokens),
        Endpoint("GET", "/api/start-tokens/{attributes_type}/channels", .master, Handlers.listFollowers),
        Endpoint(
            "DELETE", "/api/start-tokens/{attributes_type}/channels", .master, Handlers.removeFollowers,
            acts: .removeFollowers),
        Endpoint(
            "POST", "/api/start-tokens/{attributes_type}/channels", .master, Handlers.bulkTrack, acts: .importFollowers,
            body: .streamed),
        Endpoint("PUT", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, Handlers.track),
        Endpoint("DELETE", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, Handlers.untrack),
        Endpoint("GET", "/api/dead", .master, Handlers.listDead),
        Endpoint("GET", "/api/dead/{push_id}", .master, Handlers.deadLetter),
        Endpoint("DELETE", "/api/dead/{push_id}", .master, Handlers.dropDead, acts: .dropDead),
        Endpoint("POST", "/api/dead/{push_id}/retry", .master, Handlers.retryDead, acts: .retryDead),
        Endpoint("GET", "/api/webhook", .master, Handlers.webhook),
        Endpoint("GET", "/api/webhook/dead", .master, Handlers.listDeadEvents),
        Endpoint("POST", "/api/webhook/retry", .master, Handlers.retryDeadEvents, acts: .retryEvents),
        Endpoint("POST", "/api/webhook/discard", .master, Handlers.discardDeadEvents, acts: .discardEvents),
        Endpoint("GET", "/api/broadcasts", .master, Handlers.listBroadcasts),
        Endpoint("PUT", "/api/activities/{name}/broadcast", .master, Handlers.createBroadcast, acts: .createBroadcast),
        Endpoint("GET", "/api/activities/{name}/broadcast", .server, Handlers.broadcast),
        Endpoint(
            "DELETE", "/api/activities/{name}/broadcast", .master, Handlers.deleteBroadcast, acts: .deleteBroadcast),
        Endpoint("GET", "/api/pauses", .master, Handlers.listPauses),
        Endpoint("POST", "/api/pause", .master, Handlers.pause, acts: .pause),
        Endpoint("POST", "/api/resume", .master, Handlers.resume, acts: .resume),
        Endpoint("GET", "/api/quarantine", .master, Handlers.listQuarantine),
        Endpoint("POST", "/api/quarantine/release", .master, Handlers.releaseQuarantine, acts: .releaseQuarantine),
        Endpoint("POST", "/api/quarantine/discard", .master, Handlers.discardQuarantine, acts: .discardQuarantine),
        Endpoint("GET", "/api/actions", .master, Handlers.listActions),
        Endpoint("GET", "/api/schemas", .master, Handlers.listSchemas),
        Endpoint("GET", "/api/schemas/{attributes_type}", .master, Handlers.schema),
        Endpoint("PUT", "/api/schemas/{attributes_type}", .master, Handlers.setSchema, acts: .setSchema),
        Endpoint("DELETE", "/api/schemas/{attributes_type}", .master, Handlers.deleteSchema, acts: .deleteSchema),
        Endpoint(open: "/healthz", Handlers.health, isLimited: false),
        Endpoint(open: "/readyz", Handlers.readiness),
        Endpoint(open: "/openapi.json", Handlers.openAPI),
        Endpoint(open: "/metrics", Handlers.renderMetrics),
    ]

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
