internal import NIOCore

/// APNs's decisions, without a socket or a clock. It holds all state of a simulator that outlives a request. One mutex
/// guards it, and each request takes that once.
struct Judge: Sendable {
    let configuration: SimulatorConfiguration
    var tokens: ProviderTokenCheck
    var record: Recorder
    var faults: Faults
    var channels = BroadcastChannelBook()
    var newest = NewestRequests()
    private(set) var rejections = ReasonShares()
    private(set) var broadcastRejections = ReasonShares()
    private(set) var manageRejections = ReasonShares()
    private var deadReasons = ReasonShares()
    private var stalled = TokenPrefixes()
    private var slow = TokenPrefixes()
    private(set) var rejectAll: Reason?
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
        faults = configuration.faults
        scenario = configuration.scenario
        startedAt = now
        compile()
        advanceScenario(now: now)
    }

    /// Replaces the faults and ends the scenario.
    mutating func replaceFaults(_ faults: Faults) {
        self.faults = faults
        scenario = nil
        compile()
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
            faults = configuration.faults
            compile()
            advanceScenario(now: now)
        }
    }

    private mutating func compile() {
        rejections = ReasonShares(faults.rejections)
        broadcastRejections = ReasonShares(faults.broadcastRejections)
        manageRejections = ReasonShares(faults.manageRejections)
        deadReasons = ReasonShares(faults.deadReasons)
        stalled = TokenPrefixes(faults.stallTokens)
        slow = TokenPrefixes(faults.slowTokens)
        rejectAll = faults.rejectAll.flatMap(Reason.init(rawValue:))
    }

    private mutating func advanceScenario(now: Int) {
        guard let scenario else { return }
        while nextPhase < scenario.phases.count {
            let phase = scenario.phases[nextPhase]
            guard record.totals.requests + record.totals.broadcasts.requests >= phase.afterRequests ?? 0,
                Double(now - startedAt) >= (phase.afterSeconds ?? 0) * 1_000
            else { return }
            faults = phase.faults
            compile()
            record.totals.phase = nextPhase
            nextPhase += 1
        }
    }

    /// Notes a new connection and returns its number.
    mutating func connect() -> Int {
        record.totals.connections += 1
        record.totals.openConnections += 1
        return record.totals.connections
    }

    /// The fault with which a connection begins after its TLS handshake.
    func greet() -> Orders.Fault? {
        if faults.closeAfter == 0 { return .close }
        if faults.goawayAfter == 0 { return .goaway(.graceful, reason: faults.goawayReason) }
        return faults.silence == .beforeHTTP2 ? .freeze : nil
    }

    /// Notes a request that was read to its end, the `number`th of its connection. `inFlight` of them now wait.
    /// - Returns: the faults to produce before the request is checked
    mutating func arrive(_ head: RequestHead, number: Int, inFlight: Int, connection: Int = 0, now: Int) -> Orders {
        if scenario != nil { advanceScenario(now: now) }
        record.arrive(inFlight: inFlight, isBroadcast: head.isBroadcast, now: now)
        var orders = Orders()
        if let limit = faults.closeAfter, number >= limit { orders.connection = .close }
        if let limit = faults.freezeAfter, number > limit { orders.connection = .freeze }
        if let limit = faults.goawayAfter, number >= limit {
            orders.connection = .goaway(faults.goawayMode, reason: faults.goawayReason)
        }
        if let limit = faults.stallAfter, number > limit { orders.stalls = true }
        if !faults.settings.isEmpty { orders.streams = faults.settings.last { $0.afterRequests == number }?.streams }
        orders.dropsOnRejection = faults.settingsDropOnRejection
        if faults.latency > 0 || faults.latencyJitter > 0 {
            let drawn = Draw.latency(
                seed: configuration.seed, Draw.hash(head.path.utf8), attempt: record.totals.requests)
            orders.latency = faults.latency + faults.latencyJitter * drawn
        }
        if let every = faults.slowEvery, (connection - 1).isMultiple(of: every) { orders.latency += faults.slowLatency }
        if stalled.match(head) { orders.stalls = true }
        if slow.match(head) { orders.latency += faults.slowTokenLatency }
        return orders
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
        let hash = Draw.hash(target.bytes)
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
        return Draw.messageID(seed: configuration.seed, number: messageNumber)
    }

    /// May replace the verdict by a reset or a stall. Returns whether the device gets the push anyway.
    private func disturb(_ verdict: inout Judgement, _ hash: UInt64, attempt: Int, stallsHere: Bool) -> Bool {
        let reaches = verdict == .accepted
        if faults.resetShare > 0, Draw.reset(seed: configuration.seed, hash, attempt: attempt) < faults.resetShare {
            verdict = .reset(faults.resetCode)
            return reaches && faults.resetDelivers
        }
        if stallsHere
            || faults.stallShare > 0
                && Draw.stall(seed: configuration.seed, hash, attempt: attempt) < faults.stallShare
        {
            verdict = .stalled
            return reaches && faults.stallDelivers
        }
        return reaches
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
        if let rejectAll { return rejectAll }
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
        let drawn = Draw.rejection(seed: configuration.seed, hash, attempt: attempt)
        guard case .token(let token) = target else {
            return broadcastRejections.reason(at: drawn).map { .rejected($0, timestamp: nil) } ?? .accepted
        }
        let hex = faults.refusedTokens.isEmpty && faults.deadTokens.isEmpty ? "" : Hexadecimal.encode(token)
        if let refused = faults.refusedTokens.first(where: { hex.hasPrefix($0.prefix) }),
            let reason = Reason(rawValue: refused.reason)
        {
            return .rejected(reason, timestamp: deadline(reason, now))
        }
        let dead = faults.deadTokens.first { hex.hasPrefix($0.prefix) }
        if dead != nil || faults.deadShare > 0 && Draw.dead(seed: configuration.seed, hash) < faults.deadShare {
            let number = Draw.deadReason(seed: configuration.seed, hash) * deadReasons.total
            let reason =
                dead?.reason.flatMap(Reason.init(rawValue:)) ?? deadReasons.reason(at: number) ?? deadReasons.last
                ?? .unregistered
            return .rejected(reason, timestamp: deadline(reason, dead?.since ?? faults.deadSince ?? now))
        }
        return rejections.reason(at: drawn).map { .rejected($0, timestamp: deadline($0, now)) } ?? .accepted
    }

    /// The timestamp of the reason. Only a 410 has one.
    private func deadline(_ reason: Reason, _ time: Int) -> Int? { reason.status == 410 ? time : nil }
}

/// The beginnings of tokens. A request is looked up in about the same time among one as among thousands.
struct TokenPrefixes: Sendable {
    /// The prefixes by their length in digits.
    private var prefixes: [Int: Set<Substring>] = [:]

    /// - Parameter prefixes: lowercase hex
    init(_ prefixes: [String] = []) {
        self.prefixes = Dictionary(grouping: prefixes.map { $0[...] }) { $0.utf8.count }.mapValues { Set($0) }
    }

    /// Whether the request is for a token that begins with one of these.
    func match(_ head: RequestHead) -> Bool {
        if prefixes.isEmpty { return false }
        let hex = head.path.utf8.dropFirst("/3/device/".utf8.count)
        return prefixes.contains { length, prefixes in prefixes.contains(Substring(hex.prefix(length))) }
    }
}
