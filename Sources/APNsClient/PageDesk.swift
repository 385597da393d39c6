internal import APNsWire
internal import LiveActivity
internal import Logging

/// What a lane has to send, and what is done about each answer: everything but the connection. The lane takes parts of the
/// pages that wait on the board, their entries are handed out one by one, and what became of each is written into the
/// part's job, which settles the part with its last one. Belongs to the lane's thread.
final class PageDesk<Form> {
    /// Entries taken from one page before the next page has its turn: a one-token page waits for thousands at most this
    /// long.
    private static var turn: Int { 32 }
    /// Pushes whose form is kept: the parts of several pages take turns.
    private static var keptForms: Int { 4 }

    private let settings: LaneSettings
    private let seat: LaneSeat
    /// The transport's form of a push with a provider token; nil for what it cannot send.
    private let prepare: (LanePush, ProviderToken) -> Form?
    /// The part in hand.
    private var current: PageJob<Form>?
    /// Requests to send again: before all others.
    private var repeats: [LaneRequest<Form>] = []
    /// The tokens in use, the newest last; `firstToken` is the number of the first.
    private var tokens: [ProviderToken] = []
    private var firstToken = 0
    /// The newest last.
    private var forms: [(push: LanePush, tokenNumber: Int, form: Form)] = []
    private(set) var isClosing = false
    /// Monotonic milliseconds: the lane sets it, once per wake-up.
    var now: Int64 = 0

    init(_ settings: LaneSettings, _ seat: LaneSeat, prepare: @escaping (LanePush, ProviderToken) -> Form?) {
        self.settings = settings
        self.seat = seat
        self.prepare = prepare
    }

    /// Something is in hand that waits to be sent.
    var hasOwn: Bool { current != nil || !repeats.isEmpty }
    /// Nothing is to be sent, here or on the board.
    var isEmpty: Bool { !hasOwn && seat.board.isEmpty }

    // MARK: Parts in

    /// The lane is awake.
    func look() {
        isClosing = seat.awake()
        if isClosing { for part in takeBackAll() { part.settleUnsent(.cancelled) } }
    }

    /// Everything in hand that is not in flight.
    private func takeBackAll() -> [PagePart] {
        var parts = repeats.map { $0.job.takeBack($0.index) }
        if let current { parts.append(current.takeUnsent()) }
        repeats = []
        current = nil
        return parts
    }

    /// This lane cannot connect: what it has is for lanes that can. Where none can, so it would go for all that waits,
    /// which comes back at once to be retried with backoff by whoever sent it.
    func connectionFailed(_ cause: NoAnswer.Cause) {
        for part in seat.connectionFailed(returning: takeBackAll()) { part.settleUnsent(cause) }
    }

    /// No lane can send: no provider token can be signed.
    func failAll() {
        for part in takeBackAll() + seat.board.withdrawAll() { part.settleUnsent(.connectionFailed) }
    }

    // MARK: Provider token

    private var newestToken: Int { firstToken + tokens.count - 1 }

    /// Once per batch, not per request. False when none can be signed.
    func refreshToken() -> Bool {
        do {
            let token = try settings.tokens.current()
            guard tokens.last != token else { return true }
            tokens.append(token)
            // Requests in flight carry the newest or the one before.
            if tokens.count > 4 {
                tokens.removeFirst()
                firstToken += 1
            }
            return true
        } catch {
            settings.logger.error("no provider token could be signed", metadata: ["error": "\(error)"])
            return false
        }
    }

    private func form(for push: LanePush) -> Form? {
        if let kept = forms.last(where: { $0.tokenNumber == newestToken && $0.push == push }) { return kept.form }
        guard let token = tokens.last, let form = prepare(push, token) else { return nil }
        if forms.count == Self.keptForms { forms.removeFirst() }
        forms.append((push, newestToken, form))
        return form
    }

    // MARK: Requests out

    /// The next request that its sender may still begin, with a form that has the newest token: repeats first, then the part in hand, then the next part of
    /// a page, no more than there is room for now. What waits is there for all lanes. After `refreshToken`; `standing` is
    /// asked for once a part.
    func next(_ standing: @autoclosure () -> PageBoard.Standing) -> LaneRequest<Form>? {
        guard var request = nextPermitted(standing) else { return nil }
        if request.job.tokenNumber != newestToken, let form = form(for: request.job.push) {
            request.job.form = form
            request.job.tokenNumber = newestToken
        }
        request.tokenNumber = request.job.tokenNumber
        request.handedAt = now
        return request
    }

    private func nextPermitted(_ standing: () -> PageBoard.Standing) -> LaneRequest<Form>? {
        while let request = (repeats.isEmpty ? nil : repeats.removeLast()) ?? nextOfParts(standing) {
            if request.job.shared.permission.holds { return request }
            unanswered(request, .cancelled, mayHaveBeenDelivered: false)
            for part in takeUnsent(of: request.job.shared) { part.settleUnsent(.cancelled) }
        }
        return nil
    }

    private func nextOfParts(_ standing: () -> PageBoard.Standing) -> LaneRequest<Form>? {
        while current == nil {
            let standing = standing()
            guard let part = seat.take(min(Self.turn, standing.room), standing) else { return nil }
            guard let form = form(for: part.shared.push) else {
                settings.logger.error("a page could not be prepared")
                part.settleUnsent(.connectionFailed)
                continue
            }
            current = PageJob(part, form: form, tokenNumber: newestToken)
        }
        guard let job = current else { return nil }
        let index = job.next()
        if !job.hasUnsent { current = nil }
        return LaneRequest(job: job, index: index, since: now, handedAt: now)
    }

    /// Takes back a request that was not sent after all.
    func putBack(_ request: LaneRequest<Form>) { repeats.append(request) }

    // MARK: Outcomes in

    /// An answer other than 200; true when the connection must take no more requests.
    func rejected(_ request: LaneRequest<Form>, _ rejection: Rejection) -> Bool {
        switch rejection.verdict {
        case .renewProviderToken: renew(request, rejection)
        case .haltApp, .stopPush: condemn(request, rejection)
        case .retryOnFreshConnection:
            request.job.record(request.index, .rejected(rejection))
            return true
        case .retry where rejection.reason == .known(.tooManyProviderTokenUpdates): fallBack(request, rejection)
        case .pruneToken, .pruneIfOlder, .retry, .recreateChannel:
            request.job.record(request.index, .rejected(rejection))
        }
        return false
    }

    func unanswered(_ request: LaneRequest<Form>, _ cause: NoAnswer.Cause, mayHaveBeenDelivered: Bool) {
        request.job.record(
            request.index, .unanswered(.init(cause, mayHaveBeenDelivered: mayHaveBeenDelivered)))
    }

    /// The server has not acted on it: safe to send again.
    func unprocessed(_ request: LaneRequest<Form>) {
        sendAgain(request, orElse: .unanswered(.init(.timeout, mayHaveBeenDelivered: false)))
    }

    /// An answer that speaks of the credentials or of the push, not of this token: what the page has not sent yet would
    /// be answered alike, and gets the answer without being sent. A thousand wrong requests look like an attack.
    private func condemn(_ request: LaneRequest<Form>, _ rejection: Rejection) {
        request.job.record(request.index, .rejected(rejection))
        for part in takeUnsent(of: request.job.shared) { part.settle(.rejected(rejection)) }
    }

    /// What of a page is neither in flight nor to be repeated, here and on the board.
    private func takeUnsent(of page: SharedPage) -> [PagePart] {
        var unsent = seat.board.withdraw(page)
        if let job = current, job.shared === page {
            current = nil
            unsent.append(job.takeUnsent())
        }
        return unsent
    }

    private func renew(_ request: LaneRequest<Form>, _ rejection: Rejection) {
        let place = request.tokenNumber - firstToken
        do {
            if !request.hasRenewed, tokens.indices.contains(place),
                try settings.tokens.renew(ifCurrent: tokens[place]) != nil, refreshToken()
            {
                var request = request
                request.hasRenewed = true
                return sendAgain(request, orElse: .rejected(rejection))
            }
        } catch {
            settings.logger.error("no provider token could be signed", metadata: ["error": "\(error)"])
        }
        condemn(request, rejection)
    }

    /// The newest provider token is one too many: the one before serves, as long as it is good.
    private func fallBack(_ request: LaneRequest<Form>, _ rejection: Rejection) {
        let place = request.tokenNumber - firstToken
        guard !request.hasRenewed, tokens.indices.contains(place),
            settings.tokens.fallBack(from: tokens[place]) != nil, refreshToken()
        else { return request.job.record(request.index, .rejected(rejection)) }
        var request = request
        request.hasRenewed = true
        sendAgain(request, orElse: .rejected(rejection))
    }

    /// Queues a request that is safe to repeat; gives it up as `outcome` when it has been tried for two deadlines, or
    /// when the lane is closing.
    private func sendAgain(_ request: LaneRequest<Form>, orElse outcome: PushOutcome) {
        if isClosing {
            if case .rejected = outcome { return request.job.record(request.index, outcome) }
            return unanswered(request, .cancelled, mayHaveBeenDelivered: false)
        }
        guard now - request.since < 2 * settings.requestTimeout else {
            return request.job.record(request.index, outcome)
        }
        repeats.append(request)
    }
}
