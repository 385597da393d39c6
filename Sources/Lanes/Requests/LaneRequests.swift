import Delivery
internal import LiveActivity
internal import Logging
internal import Threads

/// The requests of a lane and the reaction to each answer. The lane takes parts of pages from `PageQueue` and hands out
/// their entries one by one. `PartInFlight` collects the outcomes. It belongs to the lane's thread.
final class LaneRequests<Template> {
    /// How many entries are taken from one page before the next has its turn. A one-token page waits at most this long.
    private static var turn: Int { PartInFlight<Template>.most }
    /// How many templates are kept, because the parts of several pages take turns.
    private static var keptTemplates: Int { 4 }

    private let settings: LaneSettings
    private let handle: LaneHandle
    /// Makes the transport's template of a push with a credential; nil for a push that it cannot send.
    private let prepare: (PreparedPush, PlatformCredential) -> Template?
    /// The part whose entries are handed out now.
    private var current: PartInFlight<Template>?
    /// Requests to send again. They go before all others.
    private var repeats: [LaneRequest<Template>] = []
    /// Parts whose pages take open requests, in the order in which they were taken. Settled ones leave now and then.
    private var parts: [PartInFlight<Template>] = []
    /// The first of `parts` that may not be settled.
    private var oldest = 0
    private var patience = Patience()
    private var credit: OpenRequestCredit
    /// Credentials in use, the newest last. `firstCredential` is the number of the first one.
    private var credentials: [PlatformCredential] = []
    private var firstCredential = 0
    /// The platform gives no credential for these reasons. Nil: it does, or it did not answer.
    private var credentialRefusal: Rejection?
    /// The newest last.
    private var templates: [(push: PreparedPush, credentialNumber: Int, template: Template)] = []
    private(set) var isClosing = false
    /// Monotonic milliseconds: the lane sets it, once per wake-up.
    var now: Int64 = 0
    /// The numbers of this lane that the metrics have.
    private var reported = (inFlight: 0, streams: 0)

    init(
        _ settings: LaneSettings, _ handle: LaneHandle,
        prepare: @escaping (PreparedPush, PlatformCredential) -> Template?
    ) {
        self.settings = settings
        self.handle = handle
        self.prepare = prepare
        credit = OpenRequestCredit(lanes: handle.lanes)
    }

    /// Tells the metrics what has changed since the last wake-up. They show the sums of all lanes.
    func report(inFlight: Int, streams: Int) {
        guard reported != (inFlight, streams) else { return }
        settings.metrics.changed(inFlight: inFlight - reported.inFlight, streams: streams - reported.streams)
        reported = (inFlight, streams)
    }

    /// This lane has requests that wait to be sent.
    var hasOwn: Bool { current != nil || !repeats.isEmpty }
    /// Nothing waits to be sent, in this lane or in the page queue.
    var isEmpty: Bool { !hasOwn && handle.queue.isEmpty }

    // MARK: Parts in

    func wokeUp() {
        isClosing = handle.wokeUp()
        if isClosing { for part in takeBackAll() { part.settleUnsent(.cancelled) } }
    }

    /// Takes back the requests of this lane that are not in flight.
    private func takeBackAll() -> [PagePart] {
        var parts = repeats.compactMap { $0.part.takeBack($0.index) }
        for request in repeats { request.part.repeats = 0 }
        if let unsent = current?.takeUnsent() { parts.append(unsent) }
        repeats = []
        current = nil
        return parts
    }

    /// Called when this lane cannot connect. Its parts go to lanes that can. If no lane can connect, all waiting parts
    /// come back to their senders at once, and the senders retry them with backoff.
    func connectionFailed(_ cause: NoAnswer.Cause) {
        for part in handle.connectionFailed(returning: takeBackAll()) { part.settleUnsent(cause) }
    }

    /// Returns all waiting parts to their senders, because no credential can be made, so no lane can send. The answer
    /// opens the app's circuit, so the work is kept.
    func returnAll() {
        for part in takeBackAll() + handle.queue.withdrawAll() {
            if let credentialRefusal {
                part.settle(.rejected(credentialRefusal))
            } else {
                part.settleUnsent(.connectionFailed)
            }
        }
    }

    // MARK: Credential

    private var newestCredential: Int { firstCredential + credentials.count - 1 }
    /// Names the connections that may carry the newest credential. Nil before the first one. Each request is compared
    /// with it.
    private(set) var key: Substring?

    /// Called once per batch, not per request. False when no credential can be made.
    func refreshCredential() -> Bool {
        let source = settings.platform.credentials
        do {
            let credential = try source.current()
            credentialRefusal = nil
            guard credentials.last != credential else { return true }
            credentials.append(credential)
            key = source.connections(of: credential)
            // Requests in flight carry the newest credential or the one before it.
            if credentials.count > 4 {
                credentials.removeFirst()
                firstCredential += 1
            }
            return true
        } catch {
            credentialRefusal = error.refusal
            logNoCredential(error)
            return false
        }
    }

    private func logNoCredential(_ error: CredentialError) {
        settings.logger.error("no credential could be made", metadata: ["error": "\(error)"])
    }

    private func template(for push: PreparedPush) -> Template? {
        if let kept = templates.last(where: { $0.credentialNumber == newestCredential && $0.push == push }) {
            return kept.template
        }
        guard let credential = credentials.last, let template = prepare(push, credential) else { return nil }
        if templates.count == Self.keptTemplates { templates.removeFirst() }
        templates.append((push, newestCredential, template))
        return template
    }

    // MARK: Requests out

    /// The next request that its sender may still begin, with a template for the newest credential. Call
    /// `refreshCredential` before. Repeats come first, then the current part, then the next part of a page. A part has
    /// no more entries than there is room for now, because waiting entries are for all lanes.
    /// - Parameter capacity: the lane's capacity, evaluated once per part
    func next(_ capacity: @autoclosure () -> PageQueue.Capacity) -> LaneRequest<Template>? {
        guard var request = nextPermitted(capacity) else { return nil }
        if request.part.credentialNumber != newestCredential, let template = template(for: request.part.sending.push) {
            request.part.template = template
            request.part.credentialNumber = newestCredential
        }
        request.credentialNumber = request.part.credentialNumber
        request.handedAt = now
        request.part.lastHandedAt = now
        return request
    }

    private func nextPermitted(_ capacity: () -> PageQueue.Capacity) -> LaneRequest<Template>? {
        while let request = nextRepeat() ?? nextOfParts(capacity) {
            if request.part.sending.permission.holds { return request }
            unanswered(request, .cancelled, mayHaveBeenDelivered: false)
            for part in takeUnsent(of: request.part.answers) { part.settleUnsent(.cancelled) }
        }
        return nil
    }

    private func nextRepeat() -> LaneRequest<Template>? {
        guard let request = repeats.popLast() else { return nil }
        request.part.repeats -= 1
        return request
    }

    private func nextOfParts(_ capacity: () -> PageQueue.Capacity) -> LaneRequest<Template>? {
        while current == nil {
            let capacity = capacity()
            guard let part = handle.take(min(Self.turn, capacity.room), capacity) else { return nil }
            guard let template = template(for: part.shared.push) else {
                settings.logger.error("cannot prepare the requests of a page; its tokens wait for a retry")
                part.settleUnsent(.connectionFailed)
                continue
            }
            let taken = PartInFlight(part, template: template, credentialNumber: newestCredential, now: now)
            if taken.answers.takesOpen { watch(taken) }
            current = taken
        }
        guard let part = current else { return nil }
        let index = part.next()
        if !part.hasUnsent { current = nil }
        return LaneRequest(part: part, index: index, since: now, handedAt: now)
    }

    /// Takes back a request that was not sent after all.
    func putBack(_ request: LaneRequest<Template>) {
        // The sender of an open request sends it again itself: the channel may have another token by then.
        if request.part.isLeftOpen { return unanswered(request, .cancelled, mayHaveBeenDelivered: false) }
        request.part.repeats += 1
        repeats.append(request)
    }

    // MARK: Open requests

    private func watch(_ part: PartInFlight<Template>) {
        if parts.count == parts.capacity {
            parts.removeSubrange(..<oldest)
            parts.removeAll { !$0.hasPage }
            oldest = 0
            parts.reserveCapacity(max(64, 2 * parts.count))
        }
        parts.append(part)
    }

    /// The parts that still have their pages and were begun after `time`, in that order.
    private func waitingParts(after time: Int64) -> some Sequence<PartInFlight<Template>> {
        while oldest < parts.count, !parts[oldest].hasPage { oldest += 1 }
        return (time == .max ? [] : parts[oldest...]).lazy.filter { $0.begunAt > time && $0.hasPage }
    }

    /// Leaves the requests open that have waited for longer than the patience, as far as the credit allows.
    /// - Parameter time: the parts that were begun up to then keep their requests
    func leaveOpen(begunAfter time: Int64) {
        guard oldest < parts.count else { return }
        let wait = wait
        for part in waitingParts(after: time) {
            guard part.mayBeLeftOpen(now: now, patience: wait),
                credit.take(part.open, handedAt: part.lastHandedAt, now: now)
            else { return }
            settings.metrics.leftOpen(part.open)
            part.leaveOpen()
        }
    }

    /// When `leaveOpen` is due if nothing comes before.
    func nextOpen(begunAfter time: Int64) -> Int64? {
        guard let part = waitingParts(after: time).first(where: { _ in true }), !part.hasUnsent, part.repeats == 0
        else { return nil }
        return max(part.lastHandedAt + wait, credit.due(part.open, handedAt: part.lastHandedAt))
    }

    /// How long a page waits for an answer, milliseconds.
    var wait: Int64 { patience.value(timeout: settings.requestTimeout) }

    /// Notes an answer to a request.
    func answered(handedAt: Int64) {
        credit.answered(handedAt: handedAt, now: now, patience: wait)
        patience.answered(after: now - handedAt)
    }

    // MARK: Outcomes in

    /// Handles an answer other than 200. The lane itself reacts only to answers about the credentials, the app, the
    /// push as a whole or the connection. All others, such as a dead address, are recorded for the layers above
    /// (`PageReport`).
    /// - Returns: true when the connection must take no more requests
    func rejected(_ request: LaneRequest<Template>, _ rejection: Rejection) -> Bool {
        switch rejection.verdict {
        case .renewCredential, .haltApp: if !repeats(request, rejection) { failUnsent(request, rejection) }
        case .stopPush, .pauseApp: failUnsent(request, rejection)
        case .retryOnFreshConnection:
            request.part.record(request.index, .rejected(rejection))
            return true
        case .useEarlierCredential:
            // Without an earlier one, this connection might refuse everything for long. A new one counts anew.
            if !repeats(request, rejection) {
                request.part.record(request.index, .rejected(rejection))
                return true
            }
        case .pruneToken, .pruneIfOlder, .failToken, .retry, .recreateTarget:
            request.part.record(request.index, .rejected(rejection))
        }
        return false
    }

    func unanswered(_ request: LaneRequest<Template>, _ cause: NoAnswer.Cause, mayHaveBeenDelivered: Bool) {
        // A cancelled request never left, so there was no exchange.
        if cause != .cancelled, let trace = request.part.trace {
            note(request, .unanswered(cause.rawValue), in: trace)
        }
        request.part.record(request.index, .unanswered(.init(cause, mayHaveBeenDelivered: mayHaveBeenDelivered)))
    }

    /// Sends a request again, which is safe because the server has not acted on it.
    func unprocessed(_ request: LaneRequest<Template>) {
        if let trace = request.part.trace { note(request, .unanswered("Unprocessed"), in: trace) }
        sendAgain(request, orElse: .unanswered(.init(.timeout, mayHaveBeenDelivered: false)))
    }

    /// Notes what was exchanged for a request of a traced page.
    func note(_ request: LaneRequest<Template>, _ outcome: Exchange.Outcome, in trace: ExchangeRecorder) {
        guard let shared = request.part.shared else { return }
        let address = shared.page.token(request.index)
        let index = request.credentialNumber - firstCredential
        let credential = credentials.indices.contains(index) ? credentials[index].shortened : ""
        let ended = settings.clock()
        trace.note(
            Exchange(
                origin: settings.origin.text, path: RequestText.shortened(shared.push.path, address),
                fields: [Exchange.Field(PlatformCredential.field, credential)] + shared.push.fields,
                payload: shared.push.body.shortened(
                    address, channel: shared.page.channel(request.index),
                    registeredAt: shared.page.entries[request.index].registeredAt),
                sentAt: ended - max(0, monotonicMilliseconds() - request.handedAt), endedAt: ended, outcome: outcome))
    }

    /// Handles an answer about the credentials, the app or the push as a whole. The page's unsent entries would get the
    /// same answer, so they get it without being sent. A thousand wrong requests look like an attack.
    private func failUnsent(_ request: LaneRequest<Template>, _ rejection: Rejection) {
        request.part.record(request.index, .rejected(rejection))
        // A stopped push is over for all of its tokens, so each has the answer. The other tokens wait.
        let rest: PushOutcome = rejection.verdict == .stopPush ? .rejected(rejection) : rejection.unsent
        for part in takeUnsent(of: request.part.answers) { part.settle(rest) }
    }

    /// Takes the entries of a page that are neither in flight nor to be repeated, from this lane and the page queue.
    private func takeUnsent(of page: PageAnswers) -> [PagePart] {
        var unsent = handle.queue.withdraw(page)
        if let part = current, part.answers === page {
            current = nil
            if let rest = part.takeUnsent() { unsent.append(rest) }
        }
        return unsent
    }

    /// Sends a request again with another credential, because the platform refuses the credential that it carried.
    /// - Returns: false if there is none, or if the request was repeated so before
    private func repeats(_ request: LaneRequest<Template>, _ rejection: Rejection) -> Bool {
        let isOfOtherKey = rejection.verdict == .haltApp
        let index = request.credentialNumber - firstCredential
        guard isOfOtherKey ? !request.hasChangedKey : !request.hasRenewed, credentials.indices.contains(index) else {
            return false
        }
        do throws(CredentialError) {
            let next = try settings.platform.credentials.replacement(of: credentials[index], after: rejection)
            guard next != nil, refreshCredential() else { return false }
        } catch {
            logNoCredential(error)
            return false
        }
        var request = request
        if isOfOtherKey { request.hasChangedKey = true } else { request.hasRenewed = true }
        sendAgain(request, orElse: .rejected(rejection))
        return true
    }

    /// Queues a request that is safe to repeat. After two deadlines it gets `outcome` instead. If the lane is closing,
    /// a rejected request is recorded as such, and any other as cancelled.
    private func sendAgain(_ request: LaneRequest<Template>, orElse outcome: PushOutcome) {
        if request.part.isLeftOpen { return putBack(request) }
        if isClosing {
            if case .rejected = outcome { return request.part.record(request.index, outcome) }
            return unanswered(request, .cancelled, mayHaveBeenDelivered: false)
        }
        guard now - request.since < 2 * settings.requestTimeout else {
            return request.part.record(request.index, outcome)
        }
        putBack(request)
    }
}
