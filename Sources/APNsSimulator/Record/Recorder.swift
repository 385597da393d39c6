internal import NIOCore

/// A compact record of what was received. A token of 80 bytes costs about 370 bytes with one request in its history
/// (measured over 200,000 tokens), and each further request 64 more. All tokens that got a payload share it.
struct Recorder: Sendable {
    var totals = SimulatorRecord()
    private(set) var tokens = TokenTable<TokenRecord>()
    private(set) var payloads: [DevicePayload] = []
    /// From the FNV-1a hash of the bytes to the index in `payloads`.
    private var numbers: [UInt64: Int32] = [:]
    /// The payload of the last request, because all requests of a push carry the same one.
    private var last: (bytes: ByteBuffer, number: Int32)?
    let history: Int
    private let orderMember: String?
    private var answers: [Reason: Int] = [:]

    struct TokenRecord: Sendable {
        var requests = 0
        var accepted = 0
        var duplicates: Int32 = 0
        var outOfOrder: Int32 = 0
        var droppedByDevice: Int32 = 0
        var afterEnd: Int32 = 0
        var ignoredByDevice: Int32 = 0
        var deadAnswers: Int32 = 0
        var backwards: Int32 = 0
        /// The greatest order that was accepted. `Int.min` if there is none yet.
        var newest = Int.min
        var ended = false
        /// The index in `payloads` of what the device shows. -1 if it shows nothing yet.
        var shown: Int32 = -1
        /// The index in `payloads` of the state that the device shows. An `end` without a state leaves the state as it
        /// was.
        var state: Int32 = -1
        /// For a push-to-start token: the collapse ids of its starts, each once, and how many starts had none.
        var startIDs: [String] = []
        var uncollapsed: Int32 = 0
        /// Whether an update or end reached it.
        var isUpdateToken = false
        var history: [Entry] = []
    }

    struct Entry: Sendable {
        var at: Int
        var id: MessageID
        /// The index in `payloads`, which `receive` sets.
        var payload: Int32 = -1
        /// Milliseconds from the arrival of the request to `at`.
        var waited: Int32
        var collapseID: String?
        /// The client's port on the connection of the request.
        var port: UInt16
        /// The HTTP status of the response. Nil without a response.
        var status: Int16?
        var reason: Reason?
        /// Whether the device gets the push, with a response or without one.
        var reached: Bool
    }

    init(history: Int, orderMember: String? = nil) {
        self.history = history
        self.orderMember = orderMember
    }

    mutating func arrive(inFlight: Int, isBroadcast: Bool, now: Int) {
        if isBroadcast { totals.broadcasts.requests += 1 } else { totals.requests += 1 }
        totals.noteArrival(inFlight: inFlight, now: now)
    }

    /// How many requests this token got so far.
    func attempts(of token: [UInt8]) -> Int { tokens[token]?.requests ?? 0 }

    mutating func note(_ judgement: Judgement, isBroadcast: Bool) {
        if judgement != .stalled { totals.inFlight -= 1 }
        switch judgement {
        case .accepted where isBroadcast: totals.broadcasts.accepted += 1
        case .accepted: totals.accepted += 1
        case .rejected(let reason, _) where isBroadcast: totals.broadcasts.byReason[reason.rawValue, default: 0] += 1
        case .rejected(let reason, _): answers[reason, default: 0] += 1
        case .reset: totals.reset += 1
        case .stalled: totals.stalled += 1
        }
    }

    mutating func noteManagement(_ judgement: Judgement) {
        totals.broadcasts.manageRequests += 1
        if let reason = judgement.reason { totals.broadcasts.manageByReason[reason.rawValue, default: 0] += 1 }
    }

    mutating func receive(_ entry: Entry, _ payload: ByteBuffer, token: [UInt8]) {
        var entry = entry
        entry.payload = number(of: payload)
        // Change it in place, because a copy of the record would copy its history too.
        let (isFirst, isBackwards) = Self.deliver(
            entry, payloads, history, &tokens[token, default: TokenRecord()], &totals)
        totals.tokens = tokens.count
        totals.acceptedTokens += isFirst ? 1 : 0
        totals.backwards += isBackwards ? 1 : 0
    }

    mutating func receive(
        _ entry: Entry, _ payload: ByteBuffer, channel: String, _ channels: inout BroadcastChannelBook
    ) {
        var entry = entry
        entry.payload = number(of: payload)
        let (payloads, history) = (payloads, history)
        channels.receive(channel) {
            _ = Self.deliver(entry, payloads, history, &$0, &totals.broadcasts, isBroadcast: true)
        }
    }

    /// Counts a request in the record of its token or channel, and in the sums over all of them.
    /// - Returns: whether it is the first that is accepted, and whether an accepted one had a greater order
    private static func deliver(
        _ entry: Entry, _ payloads: [DevicePayload], _ limit: Int, _ token: inout TokenRecord,
        _ counts: inout some DeviceCounts, isBroadcast: Bool = false
    ) -> (isFirst: Bool, isBackwards: Bool) {
        let payload = payloads[Int(entry.payload)]
        token.requests += 1
        defer {
            if limit > 0 {
                if token.history.count >= limit { token.history.removeFirst() }
                token.history.append(entry)
            }
        }
        if let reason = entry.reason, Reason.dead.contains(reason) { token.deadAnswers += 1 }
        guard entry.reached else { return (false, false) }
        let isFirst = token.accepted == 0
        var isBackwards = false
        counts.acceptedUnanswered += entry.status == 200 ? 0 : 1
        token.accepted += 1
        if token.history.contains(where: { $0.reached && $0.payload == entry.payload }) {
            counts.duplicates += 1
            token.duplicates += 1
        }
        if let order = payload.order {
            isBackwards = order < token.newest
            token.backwards += isBackwards ? 1 : 0
            token.newest = max(token.newest, order)
        }
        let misuse =
            isBroadcast && payload.event == .start
            ? "a broadcast cannot start an activity" : payload.fault ?? token.misuse(payload.event)
        if let fault = misuse {
            counts.ignoredByDevice[fault, default: 0] += 1
            token.ignoredByDevice += 1
        } else {
            show(entry, payload, payloads, &token, &counts)
        }
        return (isFirst, isBackwards)
    }

    /// Does as a device that takes the push.
    private static func show(
        _ entry: Entry, _ payload: DevicePayload, _ payloads: [DevicePayload], _ token: inout TokenRecord,
        _ counts: inout some DeviceCounts
    ) {
        // A push-to-start token belongs to no activity. Each start makes an activity, but starts with the same collapse
        // id share one.
        if payload.event == .start {
            if let id = entry.collapseID {
                if !token.startIDs.contains(id) { token.startIDs.append(id) }
            } else {
                token.uncollapsed += 1
            }
            token.ended = false
            token.shown = entry.payload
            token.state = entry.payload
            return
        }
        token.isUpdateToken = true
        let isOlder = token.shown >= 0 && (payload.timestamp ?? 0) < (payloads[Int(token.shown)].timestamp ?? 0)
        if isOlder {
            counts.outOfOrder += 1
            token.outOfOrder += 1
        }
        if token.ended {
            counts.afterEnd += 1
            token.afterEnd += 1
        } else if isOlder {
            counts.droppedByDevice += 1
            token.droppedByDevice += 1
        } else {
            token.shown = entry.payload
            if payload.contentState != nil { token.state = entry.payload }
            token.ended = payload.event == .end
        }
    }

    private mutating func number(of payload: ByteBuffer) -> Int32 {
        if let last, last.bytes == payload { return last.number }
        let hash = RandomDecision.hash(payload.readableBytesView)
        let number: Int32
        if let known = numbers[hash] {
            number = known
        } else {
            number = Int32(payloads.count)
            numbers[hash] = number
            payloads.append(DevicePayload(Array(payload.readableBytesView), orderMember: orderMember))
        }
        // Copy the bytes: a slice would keep the whole read buffer of its connection.
        last = (ByteBuffer(bytes: payload.readableBytesView), number)
        return number
    }

    // MARK: Reading

    var snapshot: SimulatorRecord {
        var record = totals
        for (reason, count) in answers {
            record.byReason[reason.rawValue] = count
            record.byStatus["\(reason.status)", default: 0] += count
        }
        if record.accepted > 0 { record.byStatus["200"] = record.accepted }
        return record
    }

    func report(_ token: [UInt8], _ record: TokenRecord) -> TokenReport {
        var report = TokenReport(token: Hexadecimal.encode(token))
        report.requests = record.requests
        report.accepted = record.accepted
        report.duplicates = Int(record.duplicates)
        report.outOfOrder = Int(record.outOfOrder)
        report.droppedByDevice = Int(record.droppedByDevice)
        report.afterEnd = Int(record.afterEnd)
        report.ignoredByDevice = Int(record.ignoredByDevice)
        report.deadAnswers = Int(record.deadAnswers)
        if record.cards > 0 { report.cards = record.cards }
        if record.newest > .min {
            report.newest = record.newest
            report.backwards = Int(record.backwards)
        }
        if record.shown >= 0 {
            let payload = payloads[Int(record.shown)]
            report.timestamp = payload.timestamp
            report.event = payload.event?.rawValue
            report.contentState = record.state >= 0 ? payloads[Int(record.state)].contentState : nil
            report.alert = payload.alert
            report.dismissalDate = payload.dismissalDate
        }
        report.history = record.history.map { entry in
            let payload = payloads[Int(entry.payload)]
            return TokenReport.Delivery(
                at: entry.at, arrivedAt: entry.at - Int(entry.waited), status: entry.status.map { Int($0) },
                reason: entry.reason?.rawValue, id: entry.id.text,
                timestamp: payload.timestamp, event: payload.event?.rawValue, payload: Int(entry.payload),
                reached: entry.reached, order: payload.order, port: Int(entry.port), collapseID: entry.collapseID,
                inputChannel: payload.inputChannel, dismissalDate: payload.dismissalDate)
        }
        return report
    }
}

extension Recorder.TokenRecord {
    /// How many activities starts have created through this token.
    var cards: Int { startIDs.count + Int(uncollapsed) }

    /// The error of an event that does not fit the token, which either starts activities or belongs to one. APNs
    /// accepts both events for both kinds, but the device ignores the wrong one.
    func misuse(_ event: DevicePayload.Event?) -> String? {
        if event == .start { return isUpdateToken ? "start for a token of an activity" : nil }
        return cards > 0 ? "\(event?.rawValue ?? "push") for a push-to-start token" : nil
    }
}

/// Counts of what devices did with pushes: with pushes to tokens, or with broadcasts.
protocol DeviceCounts {
    var duplicates: Int { get set }
    var outOfOrder: Int { get set }
    var droppedByDevice: Int { get set }
    var afterEnd: Int { get set }
    var ignoredByDevice: [String: Int] { get set }
    var acceptedUnanswered: Int { get set }
}

/// The records of all tokens or addresses, in many small dictionaries that double their memory at different times. When
/// one large dictionary doubles, it blocks the thread (0.1 s at 200,000 tokens), which would spoil measurements.
struct TokenTable<Record: Sendable>: Sendable {
    private static var size: Int { 1_024 }
    private(set) var tables: [[[UInt8]: Record]] = Array(repeating: [:], count: size)
    private(set) var count = 0

    private static func table(of token: [UInt8]) -> Int {
        Int(truncatingIfNeeded: RandomDecision.hash(token) % UInt64(size))
    }

    subscript(token: [UInt8]) -> Record? { tables[Self.table(of: token)][token] }

    /// Changes the record in place, and makes it if there is none.
    subscript(token: [UInt8], default make: @autoclosure () -> Record) -> Record {
        get { self[token] ?? make() }
        _modify {
            let table = Self.table(of: token)
            let before = tables[table].count
            defer { count += tables[table].count - before }
            yield &tables[table][token, default: make()]
        }
    }
}
