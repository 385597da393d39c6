/// The messages that FCM received, and the phones that got them.
struct FCMRecorder: Sendable {
    struct AddressRecord: Sendable {
        var kind: FCMMessage.Kind
        var requests = 0
        var accepted = 0
        var shown: Int32 = 0
        var duplicates: Int32 = 0
        var droppedByDevice: Int32 = 0
        var ignoredByDevice: Int32 = 0
        var deadAnswers: Int32 = 0
        var phone = AndroidPhone()
        var history: [FCMReport.Delivery] = []
    }

    var totals = FCMRecord()
    private(set) var addresses = TokenTable<AddressRecord>()
    private let history: Int
    private let orderMember: String?
    /// The live update of the last message, because the messages of a push share it.
    private var last: Result<LiveUpdate, LiveUpdate.Fault>?
    private var lastText = ""

    init(history: Int, orderMember: String?) { (self.history, self.orderMember) = (history, orderMember) }

    /// Forgets everything but the connections.
    mutating func reset() {
        let (open, inFlight, pending) = (totals.openConnections, totals.inFlight, totals.pending)
        self = FCMRecorder(history: history, orderMember: orderMember)
        (totals.openConnections, totals.inFlight, totals.pending) = (open, inFlight, pending)
    }

    /// How many requests this address got so far.
    func attempts(of address: String) -> Int { addresses[Array(address.utf8)]?.requests ?? 0 }

    /// The live update of a message. Nil if it has none.
    mutating func update(of message: FCMMessage) -> Result<LiveUpdate, LiveUpdate.Fault>? {
        guard let text = message.data[AndroidPhone.liveUpdate] else { return nil }
        if let last, text == lastText { return last }
        let update = Result { () throws(LiveUpdate.Fault) in try LiveUpdate(text, orderMember: orderMember) }
        (last, lastText) = (update, text)
        return update
    }

    /// Counts a request for an address. The phone gets its message through `deliver`.
    mutating func receive(_ entry: FCMReport.Delivery, _ message: FCMMessage, isDead: Bool) {
        var entry = entry
        if case .success(let update)? = update(of: message) {
            (entry.name, entry.event, entry.timestamp) = (update.name, update.event.rawValue, update.timestamp)
            entry.order = update.order
        }
        let isFirst = Self.note(
            entry, isDead: isDead, limit: history,
            &addresses[Array(message.address.utf8), default: AddressRecord(kind: message.kind)])
        totals.addresses = addresses.count
        totals.acceptedAddresses += isFirst ? 1 : 0
    }

    /// - Returns: whether it is the first that reaches the phone
    private static func note(
        _ entry: FCMReport.Delivery, isDead: Bool, limit: Int, _ record: inout AddressRecord
    ) -> Bool {
        record.requests += 1
        if isDead { record.deadAnswers += 1 }
        if entry.reached { record.accepted += 1 }
        if limit > 0 {
            if record.history.count >= limit { record.history.removeFirst() }
            record.history.append(entry)
        }
        return entry.reached && record.accepted == 1
    }

    /// The phone gets a message.
    /// - Parameter seconds: the phone's clock
    mutating func deliver(_ message: FCMMessage, seconds: Int) {
        let update = update(of: message)
        let outcome = Self.deliver(
            message, update, seconds: seconds,
            &addresses[Array(message.address.utf8), default: AddressRecord(kind: message.kind)])
        switch outcome {
        case .shown(let isBackwards):
            totals.shown += 1
            totals.backwards += isBackwards ? 1 : 0
        case .duplicate: totals.duplicates += 1
        case .older: totals.droppedByDevice += 1
        case .ignored(let why): totals.ignoredByDevice[why, default: 0] += 1
        }
    }

    private static func deliver(
        _ message: FCMMessage, _ update: Result<LiveUpdate, LiveUpdate.Fault>?, seconds: Int,
        _ record: inout AddressRecord
    ) -> AndroidPhone.Outcome {
        let outcome = record.phone.receive(message.data, update, seconds: seconds)
        switch outcome {
        case .shown: record.shown += 1
        case .duplicate: record.duplicates += 1
        case .older: record.droppedByDevice += 1
        case .ignored: record.ignoredByDevice += 1
        }
        return outcome
    }

    func report(_ address: String) -> FCMReport? {
        let key = Array(address.utf8)
        return addresses[key].map { report(key, $0) }
    }

    func report(_ address: [UInt8], _ record: AddressRecord) -> FCMReport {
        var report = FCMReport(address: String(decoding: address, as: UTF8.self), kind: record.kind.rawValue)
        report.requests = record.requests
        report.accepted = record.accepted
        report.shown = Int(record.shown)
        report.duplicates = Int(record.duplicates)
        report.droppedByDevice = Int(record.droppedByDevice)
        report.ignoredByDevice = Int(record.ignoredByDevice)
        report.deadAnswers = Int(record.deadAnswers)
        report.channel = record.phone.channel
        report.cards = record.phone.cards.mapValues { card in
            FCMReport.Card(
                isActive: card.isActive, type: card.type, event: card.shown?.event.rawValue,
                timestamp: card.shown?.timestamp, contentState: card.contentState,
                dismissalDate: card.shown?.dismissalDate, starts: card.starts, newest: card.newest,
                backwards: card.newest.map { _ in card.backwards })
        }
        report.history = record.history
        return report
    }
}
