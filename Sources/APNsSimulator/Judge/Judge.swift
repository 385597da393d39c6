internal import NIOCore

/// APNs's decisions, without a socket or a clock. It holds all state of a simulator that outlives a request. One mutex
/// guards it, and each request takes that once.
struct Judge: Sendable {
    let configuration: SimulatorConfiguration
    var tokens: ProviderTokenCheck
    var record: Recorder
    private(set) var plan: FaultPlan<Reason>
    var channels = BroadcastChannelBook()
    var newest = NewestRequests()
    private var scenario: Scenario?
    private var nextPhase = 0
    private var startedAt: Int
    private var presentedByKey: [Int: PresentedTokens] = [:]
    /// All tokens that were seen, for `record.totals.providerTokens`.
    private var seenTokens: Set<String> = []
    var messageNumber: UInt64 = 0

    init(configuration: SimulatorConfiguration, keys: [ProviderTokenCheck.Key], now: Int) {
        self.configuration = configuration
        tokens = ProviderTokenCheck(keys: keys)
        record = Recorder(history: configuration.history, orderMember: configuration.orderMember)
        plan = FaultPlan(configuration.faults)
        scenario = configuration.scenario
        startedAt = now
        advanceScenario(now: now)
    }

    var faults: Faults {
        get { plan.faults }
        set { plan.faults = newValue }
    }

    /// Replaces the faults and ends the scenario.
    mutating func replaceFaults(_ faults: Faults) {
        plan = FaultPlan(faults)
        scenario = nil
    }

    /// Forgets everything that was received. A scenario begins again, but faults and channels stay.
    mutating func reset(now: Int) {
        let connections = record.totals.openConnections
        let inFlight = record.totals.inFlight
        record = Recorder(history: configuration.history, orderMember: configuration.orderMember)
        record.totals.openConnections = connections
        record.totals.inFlight = inFlight
        channels.forgetReceived()
        newest = NewestRequests()
        seenTokens = []
        startedAt = now
        nextPhase = 0
        if scenario != nil {
            plan = FaultPlan(configuration.faults)
            advanceScenario(now: now)
        }
    }

    private mutating func advanceScenario(now: Int) {
        guard let scenario else { return }
        while nextPhase < scenario.phases.count {
            let phase = scenario.phases[nextPhase]
            guard record.totals.requests + record.totals.broadcasts.requests >= phase.afterRequests ?? 0,
                Double(now - startedAt) >= (phase.afterSeconds ?? 0) * 1_000
            else { return }
            plan = FaultPlan(phase.faults)
            record.totals.phase = nextPhase
            nextPhase += 1
        }
    }

    /// Notes a request that was read to its end, the `number`th of its connection. `inFlight` of them now wait.
    /// - Returns: the faults to produce before the request is checked
    mutating func arrive(_ head: RequestHead, number: Int, inFlight: Int, connection: Int = 0, now: Int) -> Orders {
        if scenario != nil { advanceScenario(now: now) }
        record.arrive(inFlight: inFlight, isBroadcast: head.isBroadcast, now: now)
        let address = Substring(head.path.utf8.dropFirst("/3/device/".utf8.count))
        return plan.orders(number: number, connection: connection, address: address) {
            RandomDecision.latency(
                seed: configuration.seed, RandomDecision.hash(head.path.utf8), attempt: record.totals.requests)
        }
    }

    /// Decides about one request to `/3/device` or `/4/broadcasts`, and records it. Times are milliseconds since 1970.
    /// `body` has at most one byte more than a payload may have. With `stallsHere`, a fault of the connection or of the
    /// token stalls the request. It was read at `arrivedAt`, before its latency.
    mutating func judge(
        _ head: RequestHead, body: ByteBuffer, stallsHere: Bool, connection: inout ConnectionFacts,
        arrivedAt: Int? = nil, now: Int
    ) -> Answer {
        let isBroadcast = head.isBroadcast
        if isBroadcast || !configuration.fast { newest.keep(head, body, isBroadcast ? .broadcast : .device) }
        let id = messageID(isBroadcast ? head.requestID : head.id)
        var target: Target?
        let reason =
            isBroadcast
            ? checkBroadcast(head, body: body, connection: &connection, target: &target, now: now)
            : checkPush(head, body: body, connection: &connection, target: &target, now: now)
        var verdict = Judgement.accepted
        if let reason { verdict = .rejected(reason, timestamp: isBroadcast ? nil : deadline(reason, now)) }
        guard let target else {
            if stallsHere { verdict = .stalled }
            record.note(verdict, isBroadcast: isBroadcast)
            return Answer(judgement: verdict, id: id)
        }
        // The rest depends on the target: whether a token is dead, and which fault is drawn for this attempt.
        let hash = RandomDecision.hash(target.bytes)
        let attempt =
            switch target {
            case .channel(let channel): channel.received.requests
            case .token(let token): configuration.fast ? record.totals.requests : record.attempts(of: token)
            }
        if verdict == .accepted { verdict = fate(of: target, hash: hash, attempt: attempt, now: now) }
        let reaches = disturb(&verdict, hash, attempt: attempt, stallsHere: stallsHere)
        record.note(verdict, isBroadcast: isBroadcast)
        let entry = Recorder.Entry(
            at: now, id: id, waited: Int32(clamping: now - (arrivedAt ?? now)), collapseID: head.collapseID,
            port: connection.port, status: verdict.status.map { Int16($0) }, reason: verdict.reason, reached: reaches)
        switch target {
        case .channel(let channel): record.receive(entry, body, channel: channel.id, &channels)
        case .token(let token) where !configuration.fast: record.receive(entry, body, token: token)
        case .token: if reaches, verdict != .accepted { record.totals.acceptedUnanswered += 1 }
        }
        return Answer(judgement: verdict, id: id)
    }

    /// The id that a request brought. A new one if it brought none, or none that is valid.
    mutating func messageID(_ given: String?) -> MessageID {
        if let id = given.flatMap({ MessageID($0) }) { return id }
        defer { messageNumber += 1 }
        return RandomDecision.messageID(seed: configuration.seed, number: messageNumber)
    }

    /// May replace the verdict by a reset or a stall. Returns whether the device gets the push anyway.
    private func disturb(_ verdict: inout Judgement, _ hash: UInt64, attempt: Int, stallsHere: Bool) -> Bool {
        let reaches = verdict == .accepted
        let disturbed = plan.disturb(hash, attempt: attempt, stallsHere: stallsHere, seed: configuration.seed)
        guard let (disturbance, delivers) = disturbed else { return reaches }
        verdict =
            switch disturbance {
            case .reset(let code): .reset(code)
            case .stalled: .stalled
            }
        return reaches && delivers
    }

    /// The token or the channel of a well-formed request.
    enum Target {
        case token([UInt8])
        case channel(BroadcastChannelBook.Channel)

        var bytes: [UInt8] {
            switch self {
            case .token(let bytes): bytes
            case .channel(let channel): Array(channel.id.utf8)
            }
        }
    }

    // MARK: Checks, in the order of this file

    private mutating func checkPush(
        _ head: RequestHead, body: ByteBuffer, connection: inout ConnectionFacts, target: inout Target?, now: Int
    ) -> Reason? {
        let prefix = "/3/device/"
        guard head.path.hasPrefix(prefix) || head.path == "/3/device" else { return .badPath }
        guard head.method == "POST" else { return .methodNotAllowed }
        let hex = head.path.utf8.dropFirst(prefix.utf8.count)
        let token = Hexadecimal.decode(hex)
        if token == nil, hex.contains(UInt8(ascii: "/")) { return .badPath }
        if let token, configuration.tokenBytes.contains(token.count) { target = .token(token) }
        if let rejectAll = plan.rejectAll { return rejectAll }
        if let reason = authenticate(head.authorization, connection: &connection, now: now) { return reason }
        if let reason = checkHeaders(head, connection: &connection) { return reason }
        if body.readableBytes == 0 { return .payloadEmpty }
        if body.readableBytes > Self.maximumPayload { return .payloadTooLarge }
        if hex.isEmpty { return .missingDeviceToken }
        return target == nil ? .badDeviceToken : nil
    }

    static let maximumPayload = 4_096

    /// Checks the provider token. Nil if it is valid.
    mutating func authenticate(_ header: String?, connection: inout ConnectionFacts, now: Int) -> Reason? {
        guard let header else { return .missingProviderToken }
        let isLast = connection.lastAuthorization == header
        let token: ProviderTokenCheck.Token
        if isLast, let last = connection.lastToken {
            token = last
        } else {
            let scheme = "bearer "
            guard header.utf8.count > scheme.utf8.count, header.prefix(scheme.count).lowercased() == scheme else {
                return .missingProviderToken
            }
            guard let verified = tokens.verify(String(header.dropFirst(scheme.count))) else {
                return .invalidProviderToken
            }
            token = verified
            if seenTokens.count < 10_000, seenTokens.insert(verified.text).inserted {
                record.totals.providerTokens += 1
            }
        }
        let key = tokens.keys[token.key]
        if !faults.refusedKeys.isEmpty, let reason = faults.refusedKeys[key.keyID].flatMap(Reason.init(rawValue:)) {
            return reason
        }
        if let environment = key.environment, environment != configuration.environment {
            return .badEnvironmentKeyInToken
        }
        if faults.expireNext > 0 {
            faults.expireNext -= 1
            return .expiredProviderToken
        }
        let seconds = now / 1_000
        if token.issuedAt > seconds + configuration.clockTolerance { return .invalidProviderToken }
        if seconds - token.issuedAt > configuration.providerTokenLifetime { return .expiredProviderToken }
        if let limit = faults.expireIssuedBefore, token.issuedAt < limit { return .expiredProviderToken }
        if let key = connection.key, key != token.key { return .unrelatedKeyIdInToken }
        guard !isLast else { return nil }
        if let updates = configuration.providerTokenUpdates {
            let window = configuration.providerTokenWindow
            let admitted =
                switch configuration.providerTokenScope {
                case .connection: connection.presented.admit(token.text, at: now, updates: updates, window: window)
                case .key:
                    presentedByKey[token.key, default: PresentedTokens()]
                        .admit(token.text, at: now, updates: updates, window: window)
                }
            if !admitted { return .tooManyProviderTokenUpdates }
        }
        connection.key = token.key
        connection.lastToken = token
        connection.lastAuthorization = header
        connection.isAuthenticated = true
        return nil
    }

    private func checkHeaders(_ head: RequestHead, connection: inout ConnectionFacts) -> Reason? {
        if head.repeatsHeader { return .duplicateHeaders }
        guard head.pushType == "liveactivity" else { return .invalidPushType }
        guard let topic = head.topic, !topic.isEmpty else { return .missingTopic }
        if topic != connection.lastTopic {
            if let reason = checkTopic(topic, key: connection.key) { return reason }
            connection.lastTopic = topic
        }
        if let priority = head.priority, priority != "10", priority != "5" { return .badPriority }
        if let expiration = head.expiration, !Self.isDecimal(expiration) { return .badExpirationDate }
        if let id = head.id, MessageID(id) == nil { return .badMessageId }
        if let collapseID = head.collapseID, collapseID.isEmpty || collapseID.utf8.count > 64 { return .badCollapseId }
        return nil
    }

    static let topicSuffix = ".push-type.liveactivity"

    /// A text that cannot be a bundle id is BadTopic. A bundle id of another team is TopicDisallowed. The team's bundle
    /// id with another suffix, or with none, is a real topic, but a Live Activity's token is not for it.
    private func checkTopic(_ topic: String, key: Int?) -> Reason? {
        guard Self.isBundleID(topic) else { return .badTopic }
        let bundleIDs = key.map { tokens.keys[$0].bundleIDs } ?? []
        if topic.hasSuffix(Self.topicSuffix) {
            let bundleID = String(topic.dropLast(Self.topicSuffix.count))
            if bundleID.isEmpty { return .badTopic }
            return bundleIDs.isEmpty || bundleIDs.contains(bundleID) ? nil : .topicDisallowed
        }
        let known = bundleIDs.isEmpty || bundleIDs.contains { topic == $0 || topic.hasPrefix("\($0).") }
        return known ? .deviceTokenNotForTopic : .topicDisallowed
    }

    static func isDecimal(_ text: String) -> Bool {
        (1...19).contains(text.utf8.count)
            && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }

    // MARK: Faults

    private func fate(of target: Target, hash: UInt64, attempt: Int, now: Int) -> Judgement {
        guard case .token(let token) = target else {
            let drawn = RandomDecision.rejection(seed: configuration.seed, hash, attempt: attempt)
            return plan.broadcastRejections.reason(at: drawn).map { .rejected($0, timestamp: nil) } ?? .accepted
        }
        let hex = faults.refusedTokens.isEmpty && faults.deadTokens.isEmpty ? "" : Hexadecimal.encode(token)
        guard let (reason, since) = plan.fate(of: hex, hash: hash, attempt: attempt, seed: configuration.seed) else {
            return .accepted
        }
        return .rejected(reason, timestamp: deadline(reason, since ?? now))
    }

    /// The timestamp of the reason. Only a 410 has one.
    private func deadline(_ reason: Reason, _ time: Int) -> Int? { reason.status == 410 ? time : nil }
}
