import Answers
import Store

/// One method at one path, with the handler of its requests. A new endpoint is a new row of `ofCore` or of a
/// feature's list.
final class Endpoint: Sendable {
    enum Handler: Sendable {
        /// A call that needs no secret, so it belongs to no app.
        case open(@Sendable (GatewayParts) async throws -> Answer)
        case call(@Sendable (GatewayParts, Call) async throws -> Answer)
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
    /// Whether it says what a publish would do, and does nothing.
    let isPreview: Bool
    /// Whether the handler itself asks if the credential may touch the names in body or query.
    let checksNames: Bool
    /// False for the probe of liveness, which is always answered.
    let isLimited: Bool
    let body: Body
    let answerType: String
    /// The forms of its successful answers, by status.
    let answers: [AnswerForm]
    /// The call's word in the log of actions. Nil: it is not in the log.
    let action: ActionKind?
    let handler: Handler
    let segments: [Segment]

    private init(
        _ method: String, _ pattern: String, _ access: Access, _ scope: CredentialScope?,
        isPreview: Bool, checksNames: Bool, isLimited: Bool, _ body: Body, _ answerType: String,
        _ answers: [AnswerForm], _ action: ActionKind?,
        _ handler: Handler
    ) {
        (self.method, self.pattern, self.access, self.scope) = (method, pattern, access, scope)
        (self.checksNames, self.isLimited, self.body, self.answerType) = (checksNames, isLimited, body, answerType)
        self.isPreview = isPreview
        (self.answers, self.action, self.handler) = (answers, action, handler)
        segments = pattern.split(separator: "/").map { part in
            part.first == "{" ? .parameter(String(part.dropFirst().dropLast())) : .literal(String(part))
        }
    }
}

extension Endpoint {
    /// The scopes that open the call. One is enough.
    var scopes: [CredentialScope] {
        CredentialScope.all.filter { own in scope.map(Set([own]).opens) == true || isPreview && own.mayPreview }
    }

    /// Whether the answer is about the deployment, so that the call may have a port and a secret of its own.
    var isWatched: Bool { pattern == "/readyz" || pattern == "/metrics" }

    /// Whether devices make the call: they register, report tokens and send receipts.
    var isOfDevices: Bool { action == nil && (scope == .track || [.signedChannel, .unproven].contains(access)) }

    /// A call of an app. `isAirship` says whether responses carry Airship's media type.
    convenience init<Calls: CallGroup>(
        _ method: String, _ pattern: String, _ access: Access, _ scope: CredentialScope?,
        _ handle: @escaping @Sendable (Calls) -> (Call) async throws -> Answer, _ answers: [AnswerForm],
        isPreview: Bool = false, checksNames: Bool = false, acts action: ActionKind? = nil,
        isAirship: Bool = false, body: Body? = nil
    ) {
        self.init(
            method, pattern, access, scope, isPreview: isPreview, checksNames: checksNames, isLimited: true,
            body ?? (["GET", "DELETE"].contains(method) ? .none : .whole),
            isAirship ? Answer.airshipType : Answer.jsonType, answers, action,
            .call { parts, call in try await handle(Calls(parts))(call) })
    }

    /// A `GET` that needs no secret.
    convenience init<Calls: CallGroup>(
        open pattern: String, _ handle: @escaping @Sendable (Calls) -> () async throws -> Answer,
        _ answers: [AnswerForm], isLimited: Bool = true
    ) {
        self.init(
            "GET", pattern, .anyone, nil, isPreview: false, checksNames: false, isLimited: isLimited, .none,
            Answer.jsonType, answers, nil, .open { parts in try await handle(Calls(parts))() })
    }

    /// In order of precedence: a literal path stands before a parameter that would match it too.
    static let all: [Endpoint] = ofCore + ofFeatures.joined()

    private static let ofCore: [Endpoint] = [
        Endpoint(
            "POST", "/api/push", .master, .publish, PublishCalls.publish, [.status(202, AcceptedAnswer.self)],
            checksNames: true, acts: .publish, isAirship: true),
        Endpoint(
            "POST", "/api/push/validate", .master, .publish, DryRunCalls.validate, [.ok(DryRunAnswer.self)],
            isPreview: true, checksNames: true, isAirship: true),
        Endpoint("GET", "/api/push/{push_id}", .master, .read, PushCalls.ledger, [.ok(LedgerAnswer.self)]),
        Endpoint(
            "DELETE", "/api/push/{push_id}", .master, .publish, PushCalls.cancel, [.ok(LedgerAnswer.self)],
            acts: .cancelPush),
        Endpoint(
            "GET", "/api/push/{push_id}/content", .master, .read, PushCalls.content, [.ok(ContentAnswer.self)]),
        Endpoint(
            "GET", "/api/push/{push_id}/channels", .master, .read, PushCalls.channels,
            [.ok(UnlitChannelsAnswer.self)]),
        Endpoint("GET", "/api/push/{push_id}/trace", .master, .read, PushCalls.trace, [.ok(PushTraceAnswer.self)]),
        Endpoint(
            "GET", "/api/pushes", .master, .read, HistoryCalls.list, [.ok(HistoryAnswer.self)], checksNames: true),
        Endpoint(
            "POST", "/api/schedules", .master, .publish, ScheduleCalls.create, [.status(201, SchedulesAnswer.self)],
            checksNames: true, acts: .schedule, isAirship: true),
        Endpoint(
            "GET", "/api/schedules", .master, .read, ScheduleCalls.list, [.ok(ScheduleListAnswer.self)],
            checksNames: true, isAirship: true),
        Endpoint(
            "GET", "/api/schedules/{schedule_id}", .master, .read, ScheduleCalls.show, [.ok(ScheduleAnswer.self)],
            isAirship: true),
        Endpoint(
            "PUT", "/api/schedules/{schedule_id}", .master, .publish, ScheduleCalls.replace,
            [.ok(SchedulesAnswer.self)], checksNames: true, acts: .replaceSchedule, isAirship: true),
        Endpoint(
            "DELETE", "/api/schedules/{schedule_id}", .master, .publish, ScheduleCalls.cancel, [.empty],
            acts: .cancelSchedule, isAirship: true),
        Endpoint(
            "GET", "/api/channels", .master, .read, ChannelCalls.list, [.ok(ChannelsAnswer.self)], isAirship: true),
        Endpoint(
            "POST", "/api/channels", .newChannel, .track, ChannelCalls.create,
            [.status(201, ChannelCreatedAnswer.self)], isAirship: true),
        Endpoint(
            "POST", "/api/channels/tags", .master, .track, ChannelCalls.tag, [.ok(DoneAnswer.self)],
            acts: .tagChannels, isAirship: true),
        Endpoint(
            "POST", "/api/channels/uninstall", .master, .track, ForgetCalls.forgetChannels,
            [.status(202, ForgottenAnswer.self)], acts: .forgetChannels, isAirship: true),
        Endpoint(
            "POST", "/api/channels/bulk", .master, .track, BulkCalls.changeChannels, [.ok(BulkResultAnswer.self)],
            acts: .importChannels, body: .streamed),
        Endpoint(
            "PUT", "/api/channels/sdk/batch/{channel}", .channel, .track, ChannelCalls.batch,
            [.ok(BatchResultAnswer.self)], isAirship: true),
        Endpoint(
            "GET", "/api/channels/{channel}", .master, .read, ChannelCalls.show, [.ok(ChannelStoryAnswer.self)],
            isAirship: true),
        Endpoint(
            "PUT", "/api/channels/{channel}", .channel, .track, ChannelCalls.update,
            [.ok(ChannelCreatedAnswer.self)], isAirship: true),
        Endpoint(
            "GET", "/api/named_users", .master, .read, NamedUserCalls.list,
            [.ok(UserStoryAnswer.self), .ok(UsersAnswer.self)], isAirship: true),
        Endpoint(
            "POST", "/api/named_users/tags", .master, .track, NamedUserCalls.tag, [.ok(DoneAnswer.self)],
            acts: .tagUsers, isAirship: true),
        Endpoint(
            "POST", "/api/named_users/uninstall", .master, .track, ForgetCalls.forgetUsers,
            [.status(202, ForgottenAnswer.self)], acts: .forgetUsers, isAirship: true),
        Endpoint(
            "POST", "/api/named_users/associate", .server, .track, NamedUserCalls.associate, [.ok(DoneAnswer.self)],
            isAirship: true),
        Endpoint(
            "POST", "/api/named_users/disassociate", .server, .track, NamedUserCalls.disassociate,
            [.ok(DoneAnswer.self)],
            isAirship: true),
        Endpoint(
            "POST", "/api/named_users/{user}", .master, .track, NamedUserCalls.update, [.ok(DoneAnswer.self)],
            acts: .changeUser, isAirship: true),
        Endpoint(
            "GET", "/api/auth/device", .signedChannel, nil, DeviceTokenCalls.issue, [.ok(DeviceTokenAnswer.self)],
            isAirship: true),
        Endpoint("POST", "/api/receipts", .ownChannel, .track, ReceiptCalls.count, [.ok(ReceiptTallyAnswer.self)]),
        Endpoint(
            "GET", "/api/activities", .master, .read, ActivityCalls.list, [.ok(ActivitiesAnswer.self)],
            checksNames: true),
        Endpoint("GET", "/api/activities/{name}", .master, .read, ActivityCalls.show, [.ok(ActivityAnswer.self)]),
        Endpoint(
            "PUT", "/api/activities/{name}", .master, .operate, ActivityCalls.describe, [.ok(DoneAnswer.self)],
            acts: .describeName),
        Endpoint(
            "GET", "/api/activities/{name}/channels", .master, .track, FollowerCalls.list,
            [.ok(FollowersAnswer.self)]),
        Endpoint(
            "POST", "/api/activities/{name}/channels", .master, .track, BulkCalls.track,
            [.ok(BulkResultAnswer.self)], acts: .importFollowers, body: .streamed),
        Endpoint(
            "DELETE", "/api/activities/{name}/channels", .master, .track, FollowerCalls.remove,
            [.ok(RemovedAnswer.self)], acts: .removeFollowers),
        Endpoint(
            "GET", "/api/activities/{name}/channels/{channel}", .master, .read, ExplainCalls.explain,
            [.ok(ExplanationAnswer.self)]),
        Endpoint(
            "PUT", "/api/activities/{name}/channels/{channel}", .channel, .track, RegistrationCalls.track,
            [.ok(RegisteredAnswer.self)]),
        Endpoint(
            "DELETE", "/api/activities/{name}/channels/{channel}", .channel, .track, RegistrationCalls.untrack,
            [.empty]
        ),
        Endpoint(
            "GET", "/api/start-tokens/{attributes_type}", .master, .read, FollowerCalls.countStartTokens,
            [.ok(StartTokensAnswer.self)]),
        Endpoint(
            "GET", "/api/start-tokens/{attributes_type}/channels", .master, .track, FollowerCalls.list,
            [.ok(FollowersAnswer.self)]),
        Endpoint(
            "DELETE", "/api/start-tokens/{attributes_type}/channels", .master, .track, FollowerCalls.remove,
            [.ok(RemovedAnswer.self)], acts: .removeFollowers),
        Endpoint(
            "POST", "/api/start-tokens/{attributes_type}/channels", .master, .track, BulkCalls.track,
            [.ok(BulkResultAnswer.self)], acts: .importFollowers, body: .streamed),
        Endpoint(
            "PUT", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, .track,
            RegistrationCalls.track,
            [.ok(RegisteredAnswer.self)]),
        Endpoint(
            "DELETE", "/api/start-tokens/{attributes_type}/channels/{channel}", .channel, .track,
            RegistrationCalls.untrack,
            [.empty]),
        Endpoint(
            "GET", "/api/dead", .master, .read, DeadLetterCalls.list, [.ok(DeadLettersAnswer.self)],
            checksNames: true),
        Endpoint("GET", "/api/dead/{push_id}", .master, .read, DeadLetterCalls.show, [.ok(DeadLetterAnswer.self)]),
        Endpoint(
            "DELETE", "/api/dead/{push_id}", .master, .operate, DeadLetterCalls.drop, [.empty], acts: .dropDead),
        Endpoint(
            "POST", "/api/dead/{push_id}/retry", .master, .operate, DeadLetterCalls.retry,
            [.ok(RetriedAnswer.self)],
            acts: .retryDead),
        Endpoint("GET", "/api/broadcasts", .master, .read, BroadcastCalls.list, [.ok(BroadcastsAnswer.self)]),
        Endpoint(
            "PUT", "/api/activities/{name}/broadcast", .master, .operate, BroadcastCalls.create,
            [.ok(BroadcastAnswer.self), .status(202, BroadcastAnswer.self)], acts: .createBroadcast),
        Endpoint(
            "GET", "/api/activities/{name}/broadcast", .ownChannel, .track, BroadcastCalls.show,
            [.ok(BroadcastAnswer.self)]),
        Endpoint(
            "DELETE", "/api/activities/{name}/broadcast", .master, .operate, BroadcastCalls.delete,
            [.empty, .status(202, BroadcastAnswer.self)], acts: .deleteBroadcast),
        Endpoint(
            "GET", "/api/pauses", .master, .read, PauseCalls.list, [.ok(PausesAnswer.self)], checksNames: true),
        Endpoint(
            "POST", "/api/pause", .master, .operate, PauseCalls.pause, [.ok(PausesAnswer.self)], checksNames: true,
            acts: .pause),
        Endpoint(
            "POST", "/api/resume", .master, .operate, PauseCalls.resume, [.ok(PausesAnswer.self)],
            checksNames: true,
            acts: .resume),
        Endpoint("GET", "/api/quarantine", .master, .read, QuarantineCalls.list, [.ok(QuarantineAnswer.self)]),
        Endpoint(
            "POST", "/api/quarantine/release", .master, .operate, QuarantineCalls.release,
            [.ok(ReleasedAnswer.self)], acts: .releaseQuarantine),
        Endpoint(
            "POST", "/api/quarantine/discard", .master, .operate, QuarantineCalls.discard,
            [.ok(DiscardedAnswer.self)], acts: .discardQuarantine),
        Endpoint("GET", "/api/actions", .master, .operate, ActionCalls.list, [.ok(ActionsAnswer.self)]),
        Endpoint(
            "GET", "/api/credentials", .master, .operate, CredentialCalls.list, [.ok(CredentialListAnswer.self)]),
        Endpoint(
            "POST", "/api/credentials", .master, .operate, CredentialCalls.create,
            [.status(201, MadeCredentialAnswer.self)], acts: .createCredential),
        Endpoint(
            "POST", "/api/credentials/{credential}/rotate", .master, .operate, CredentialCalls.rotate,
            [.ok(MadeCredentialAnswer.self)], acts: .rotateCredential),
        Endpoint(
            "DELETE", "/api/credentials/{credential}", .master, .operate, CredentialCalls.revoke, [.empty],
            acts: .revokeCredential),
        Endpoint("GET", "/api/settings", .master, .operate, SettingCalls.list, [.ok(SettingsAnswer.self)]),
        // A schema belongs to an attributes type. A publisher of some names needs it to write a content state.
        Endpoint(
            "GET", "/api/schemas", .master, .read, SchemaCalls.list, [.ok(SchemasAnswer.self)], checksNames: true),
        Endpoint(
            "GET", "/api/schemas/{attributes_type}", .master, .read, SchemaCalls.show, [.raw], checksNames: true),
        Endpoint(
            "PUT", "/api/schemas/{attributes_type}", .master, .operate, SchemaCalls.set, [.ok(DoneAnswer.self)],
            acts: .setSchema),
        Endpoint(
            "DELETE", "/api/schemas/{attributes_type}", .master, .operate, SchemaCalls.delete, [.empty],
            acts: .deleteSchema),
        Endpoint(open: "/healthz", HealthCalls.health, [.ok(HealthAnswer.self)], isLimited: false),
        Endpoint(open: "/readyz", HealthCalls.readiness, [.ok(ReadinessAnswer.self)]),
        Endpoint(open: "/openapi.json", OpenAPICalls.document, [.raw]),
        Endpoint(open: "/metrics", HealthCalls.renderMetrics, [.raw]),
    ]

    /// Whether the row names the form of an answer with success. A 304 says that the caller has it.
    func declares(_ answer: Answer) -> Bool {
        answer.status == 304
            || answers.contains { form in
                form.status == answer.status
                    && form.body.map(ObjectIdentifier.init) == answer.form.map(ObjectIdentifier.init)
            }
    }

    /// Methods and patterns, as metrics have them.
    static let routes = all.map { (method: $0.method, pattern: $0.pattern) }

    /// `all` by the number of segments: in order of precedence, the endpoints of each pattern.
    static let byLength: [Int: [[Endpoint]]] = {
        var patterns: [String] = []
        for endpoint in all where !patterns.contains(endpoint.pattern) { patterns.append(endpoint.pattern) }
        let groups = patterns.map { pattern in all.filter { $0.pattern == pattern } }
        return Dictionary(grouping: groups) { $0[0].segments.count }
    }()

    /// `all` by the pattern, for patterns without parameters.
    static let byPath = Dictionary(grouping: all.filter { !$0.pattern.utf8.contains(UInt8(ascii: "{")) }, by: \.pattern)

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
