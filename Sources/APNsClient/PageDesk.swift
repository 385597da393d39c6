internal import APNsWire
internal import LiveActivity
internal import Logging

/// What a lane has to send, and what is done about each answer: everything but the connection. A page arrives from the
/// mailbox, waits here, its entries are handed out in turns, and what became of each is written into the page's job, which
/// resumes the sender with its last one. Belongs to the lane's thread.
final class PageDesk<Form> {
    /// Entries handed out from one page before the next page has its turn: a one-token page waits for thousands at most
    /// this long.
    private static var turn: Int { 32 }

    private let settings: LaneSettings
    /// The transport's form of a push with a provider token; nil for what it cannot send.
    private let prepare: (LanePush, ProviderToken) -> Form?
    private var queue: [PageJob<Form>] = []
    /// Requests to send again: before all others.
    private var repeats: [LaneRequest<Form>] = []
    /// The tokens in use, the newest last; `firstToken` is the number of the first.
    private var tokens: [ProviderToken] = []
    private var firstToken = 0
    /// The last push's form: the pages of one push share it.
    private var shared: (push: LanePush, tokenNumber: Int, form: Form)?
    private(set) var isClosing = false
    /// Monotonic milliseconds: the lane sets it, once per wake-up.
    var now: Int64 = 0

    init(_ settings: LaneSettings, prepare: @escaping (LanePush, ProviderToken) -> Form?) {
        self.settings = settings
        self.prepare = prepare
    }

    var isEmpty: Bool { queue.isEmpty && repeats.isEmpty }

    // MARK: Pages in

    func receive(_ delivery: LaneMailbox.Delivery) {
        isClosing = delivery.isClosing
        for request in delivery.pages {
            guard !isClosing, refreshToken() else {
                refuse(request, isClosing ? .cancelled : .connectionFailed)
                continue
            }
            guard let form = form(for: request.push) else {
                settings.logger.error("a page could not be prepared")
                refuse(request, .connectionFailed)
                continue
            }
            queue.append(PageJob(request, form: form, tokenNumber: newestToken))
        }
        if isClosing { failAll(.cancelled) }
    }

    private func refuse(_ request: PageRequest, _ cause: NoAnswer.Cause) {
        let outcome = PushOutcome.unanswered(.init(cause, mayHaveBeenDelivered: false))
        request.continuation.resume(returning: PageOutcome(all: request.page, outcome))
    }

    /// The same outcome for all that waits: nothing of it was sent.
    func failAll(_ cause: NoAnswer.Cause) {
        let outcome = PushOutcome.unanswered(.init(cause, mayHaveBeenDelivered: false))
        for item in repeats { item.job.record(item.index, outcome) }
        for job in queue { job.recordUnsent(outcome) }
        repeats = []
        queue = []
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
        if let shared, shared.tokenNumber == newestToken, shared.push == push { return shared.form }
        guard let token = tokens.last, let form = prepare(push, token) else { return nil }
        shared = (push, newestToken, form)
        return form
    }

    // MARK: Requests out

    /// The next request that its sender may still begin, with a form that has the newest token. Repeats first, then the
    /// pages in turns.
    func next() -> LaneRequest<Form>? {
        guard var request = nextPermitted() else { return nil }
        if request.job.tokenNumber != newestToken, let form = form(for: request.job.request.push) {
            request.job.form = form
            request.job.tokenNumber = newestToken
        }
        request.tokenNumber = request.job.tokenNumber
        return request
    }

    private func nextPermitted() -> LaneRequest<Form>? {
        while let request = repeats.popLast() ?? nextOfPages() {
            if request.job.request.permission.holds { return request }
            queue.removeAll { $0 === request.job }
            unanswered(request, .cancelled, mayHaveBeenDelivered: false)
            request.job.recordUnsent(.unanswered(.init(.cancelled, mayHaveBeenDelivered: false)))
        }
        return nil
    }

    private func nextOfPages() -> LaneRequest<Form>? {
        guard let job = queue.first else { return nil }
        let index = job.next
        job.next += 1
        if !job.hasUnsent {
            queue.removeFirst()
        } else if job.next.isMultiple(of: Self.turn), queue.count > 1 {
            queue.append(queue.removeFirst())
        }
        return LaneRequest(job: job, index: index, since: now)
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
        queue.removeAll { $0 === request.job }
        request.job.recordUnsent(.rejected(rejection))
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
