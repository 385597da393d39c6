internal import NIOCore

/// FCM's decisions, without a socket or a clock. It holds all state of FCM that outlives a request. A mutex guards it.
struct FCMJudge: Sendable {
    let configuration: FCMConfiguration
    private let fast: Bool
    private let seed: UInt64
    private(set) var plan: FaultPlan<FCMReason>
    var tokens: AccessTokens
    var record: FCMRecorder
    private var quota: MinuteQuota?
    private(set) var newest = NewestRequests()
    private var messages = 0

    init(_ simulator: SimulatorConfiguration, _ configuration: FCMConfiguration, _ tokens: AccessTokens) {
        self.configuration = configuration
        fast = simulator.fast
        seed = simulator.seed
        plan = FaultPlan(configuration.faults)
        self.tokens = tokens
        record = FCMRecorder(history: simulator.history, orderMember: simulator.orderMember)
        quota = configuration.quotaPerMinute.map { MinuteQuota(limit: $0) }
    }

    var faults: Faults {
        get { plan.faults }
        set { plan = FaultPlan(newValue) }
    }

    mutating func reset() {
        record.reset()
        newest = NewestRequests()
    }

    static let tokenPath = "/token"

    /// Notes a request that was read to its end, the `number`th of its connection.
    mutating func arrive(
        _ head: RequestHead, _ body: ByteBuffer, number: Int, inFlight: Int, connection: Int, now: Int
    ) -> Orders {
        record.totals.noteArrival(inFlight: inFlight, now: now)
        if head.path == Self.tokenPath {
            record.totals.tokenRequests += 1
            return Orders()
        }
        record.totals.requests += 1
        var address = ""
        if plan.knowsAddresses { address = (try? FCMMessage.read(Array(body.readableBytesView)))?.address ?? "" }
        return plan.orders(number: number, connection: connection, address: address[...]) {
            RandomDecision.latency(
                seed: seed, RandomDecision.hash(body.readableBytesView), attempt: record.totals.requests)
        }
    }

    // MARK: Access tokens

    /// Nil: the request gets no answer.
    mutating func exchange(_ head: RequestHead, _ body: ByteBuffer, now: Int) -> FCMAnswer? {
        var result: Result<[UInt8], AccessTokenError>
        if let error = faults.tokenError.flatMap(AccessTokenError.init) {
            result = .failure(error)
        } else if head.method != "POST" || head.mediaType != "application/x-www-form-urlencoded" {
            result = .failure(.unsupportedGrantType)
        } else {
            result = tokens.exchange(Array(body.readableBytesView), now: now)
        }
        switch result {
        case .success(let body):
            record.totals.inFlight -= 1
            return FCMAnswer(status: 200, body: body)
        case .failure(let error):
            record.totals.tokenByReason[error.rawValue, default: 0] += 1
            if error == .stalled { return nil }
            record.totals.inFlight -= 1
            return FCMAnswer(status: error.status, body: error.body, isJSON: error != .notJSON)
        }
    }

    // MARK: Messages

    /// Decides about one `messages:send`, and records it.
    /// - Parameter orders: of `arrive`
    /// - Returns: `late`: a message that the phone gets after the fault `reorder_ms`
    mutating func send(
        _ head: RequestHead, _ body: ByteBuffer, _ orders: Orders, port: UInt16, arrivedAt: Int, now: Int
    ) -> (end: ServiceAnswer.End, late: FCMMessage?) {
        if !fast { newest.keep(head, body, .message) }
        let message: FCMMessage
        do throws(FCMMessage.Rejection) {
            try checkCaller(head, now: now)
            message = try FCMMessage.read(Array(body.readableBytesView))
        } catch {
            if orders.stalls { return (stall(), nil) }
            let answer = reject(error.reason, error.text, error.violations, now: now)
            return (answer.end, nil)
        }
        let hash = RandomDecision.hash(message.address.utf8)
        let attempt = fast ? record.totals.requests : record.attempts(of: message.address)
        let fate = plan.fate(of: message.address, hash: hash, attempt: attempt, seed: seed)
        let reason = fate.map { adapt($0.reason, to: message) }
        var reaches = reason == nil && !message.validateOnly
        var answer: FCMAnswer?
        var ending: ServiceAnswer.End
        switch plan.disturb(hash, attempt: attempt, stallsHere: orders.stalls, seed: seed) {
        case (.reset(let code), let delivers)?:
            record.totals.reset += 1
            record.totals.inFlight -= 1
            reaches = reaches && delivers
            ending = .reset(code)
        case (.stalled, let delivers)?:
            reaches = reaches && delivers
            ending = stall()
        case nil:
            let given = reason.map { reject($0, nil, [], now: now) } ?? accept(message)
            answer = given
            ending = given.end
        }
        let late = note(message, reaches, reason: answer == nil ? nil : reason, answer, port, arrivedAt, now)
        return (ending, late)
    }

    /// Records a well-formed message. The phone gets it now, or late.
    private mutating func note(
        _ message: FCMMessage, _ reaches: Bool, reason: FCMReason?, _ answer: FCMAnswer?, _ port: UInt16,
        _ arrivedAt: Int, _ now: Int
    ) -> FCMMessage? {
        if reaches, answer == nil { record.totals.acceptedUnanswered += 1 }
        guard !fast else { return nil }
        let attempt = record.attempts(of: message.address)
        let entry = FCMReport.Delivery(
            at: now, arrivedAt: arrivedAt, status: answer?.status, reason: reason?.rawValue, reached: reaches,
            isHigh: message.isHigh, ttl: message.ttl, collapseKey: message.collapseKey,
            canonicalID: message.data[AndroidPhone.canonicalPushID], port: Int(port))
        record.receive(entry, message, isDead: reason.map(FCMReason.dead.contains) ?? false)
        guard reaches else { return nil }
        let drawn = RandomDecision.reorder(seed: seed, RandomDecision.hash(message.address.utf8), attempt: attempt)
        if faults.reorderShare > 0, drawn < faults.reorderShare {
            record.totals.pending += 1
            return message
        }
        record.deliver(message, seconds: now / 1_000)
        return nil
    }

    /// The phone gets a message that was late.
    mutating func deliverLate(_ message: FCMMessage, now: Int) {
        record.totals.pending -= 1
        record.deliver(message, seconds: now / 1_000)
    }

    private mutating func checkCaller(_ head: RequestHead, now: Int) throws(FCMMessage.Rejection) {
        let parts = head.path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects", !parts[3].isEmpty,
            parts[4] == "messages:send", head.method == "POST"
        else { throw FCMMessage.Rejection(.badPath) }
        if let reason = plan.rejectAll { throw FCMMessage.Rejection(reason) }
        let scheme = "Bearer "
        guard let header = head.authorization, header.hasPrefix(scheme),
            tokens.isValid(
                String(header.dropFirst(scheme.count)), now: now, issuedFrom: plan.faults.expireIssuedBefore)
        else { throw FCMMessage.Rejection(.unauthenticated) }
        if plan.faults.expireNext > 0 {
            plan.faults.expireNext -= 1
            throw FCMMessage.Rejection(.unauthenticated)
        }
        guard parts[3] == configuration.projectID else { throw FCMMessage.Rejection(.permissionDenied) }
        if quota?.take(now: now) == false { throw FCMMessage.Rejection(.quotaExceeded) }
        guard head.mediaType == "application/json" else {
            throw FCMMessage.Rejection("", "Invalid JSON payload received. The content type is not application/json.")
        }
    }

    /// An installation id that is dead gets the form without an error code.
    private func adapt(_ reason: FCMReason, to message: FCMMessage) -> FCMReason {
        message.kind == .fid && reason == .unregistered ? .notFound : reason
    }

    private mutating func accept(_ message: FCMMessage) -> FCMAnswer {
        record.totals.accepted += 1
        record.totals.inFlight -= 1
        record.totals.byStatus["200", default: 0] += 1
        if message.validateOnly { record.totals.validated += 1 }
        messages += 1
        let id = message.validateOnly ? "fake_message_id" : "0:\(messages)%\(Hexadecimal.encode(seed.bigEndianBytes))"
        return FCMAnswer(
            status: 200, body: Array(#"{"name":"projects/\#(configuration.projectID)/messages/\#(id)"}"#.utf8))
    }

    private mutating func reject(
        _ reason: FCMReason, _ text: String?, _ violations: [FieldViolation], now: Int
    ) -> FCMAnswer {
        record.totals.inFlight -= 1
        record.totals.byStatus["\(reason.status)", default: 0] += 1
        record.totals.byReason[reason.rawValue, default: 0] += 1
        var answer = FCMAnswer(
            status: reason.status, body: reason.body(text, violations: violations), isJSON: reason.isJSON)
        if reason.status == 429 || reason.status == 503 {
            answer.retryAfter = faults.retryAfter ?? (reason == .quotaExceeded ? quota?.secondsLeft(now: now) : nil)
        }
        return answer
    }

    private mutating func stall() -> ServiceAnswer.End {
        record.totals.stalled += 1
        return .stalled
    }
}

/// The response to one request.
struct FCMAnswer: Sendable {
    var status: Int
    var body: [UInt8]
    var isJSON = true
    /// Seconds.
    var retryAfter: Int?

    var end: ServiceAnswer.End {
        var fields = [(name: "content-type", value: isJSON ? "application/json; charset=UTF-8" : "text/html")]
        if let retryAfter { fields.append(("retry-after", "\(retryAfter)")) }
        return .response(status: status, id: nil, idName: "", fields: fields, body: body)
    }
}

/// The messages that a project may send in a minute. A minute begins with the first message after the last one's end.
struct MinuteQuota: Sendable {
    let limit: Int
    private var startedAt: Int?
    private var count = 0

    init(limit: Int) { self.limit = limit }

    /// Counts a message. False, and not counted, above the limit.
    /// - Parameter now: milliseconds
    mutating func take(now: Int) -> Bool {
        if now - (startedAt ?? now - 60_000) >= 60_000 { (startedAt, count) = (now, 0) }
        guard count < limit else { return false }
        count += 1
        return true
    }

    /// Seconds until the minute ends, at least one.
    func secondsLeft(now: Int) -> Int { max(1, ((startedAt ?? now) + 60_000 - now + 999) / 1_000) }
}

extension UInt64 {
    fileprivate var bigEndianBytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: self >> UInt64(56 - 8 * $0)) } }
}
