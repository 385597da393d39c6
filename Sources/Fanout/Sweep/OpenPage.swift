import Delivery
import LiveActivity
import Logging
import Store

/// The open requests of a page: they had no answer when the page was settled (ADR 35). Receives the answers and settles
/// them. It needs no lease: an answer counts while the request's id stands in Redis, and the 200 of an `end` always. If
/// this worker dies, the requests lapse after their time, and the name's next retries send the push again.
struct OpenPage: PageOwner {
    /// Answers that come within this time are settled together.
    private static let gather: Duration = .milliseconds(20)

    /// An open request, and how it went out.
    struct Request: Sendable {
        let request: OpenRequest
        let route: TokenPage.Entry.Route
    }

    let context: WorkerContext
    let app: WorkerApp
    let name: ActivityName
    let details: PageDetails
    /// By index in the page.
    let requests: [Int: Request]
    let answers: [PageAnswers]
    /// How long Redis is asked, on the worker's clock, milliseconds. The requests may lapse before.
    let until: Int64
    let state: RunState
    let log: Logger

    /// Returns when each request has its answer.
    func run() async {
        await withDiscardingTaskGroup { group in
            for source in answers {
                group.addTask {
                    while true {
                        var found = await source.next()
                        if found.isEmpty { return }
                        try? await Task.sleep(for: Self.gather)
                        found += source.more()
                        let byPlatform = Dictionary(grouping: found) { requests[$0.index]?.request.channel.platform }
                        for case (let platform?, let found) in byPlatform { await settle(found, on: platform) }
                    }
                }
            }
        }
    }

    private func settle(_ found: [PageOutcome.Exception], on platform: Platform) async {
        let hasOther = app.sender(platform)?.otherTransport != nil
        var (page, outcome, channels) = (TokenPage(), PageOutcome(), [WaitingChannel]())
        for answer in found {
            guard let open = requests[answer.index] else { continue }
            let settled = settled(answer.outcome, hasOther: hasOther)
            if settled == .accepted {
                outcome.accepted += 1
            } else {
                outcome.exceptions.append(.init(index: channels.count, outcome: settled))
            }
            var channel = open.request.channel
            channel.openID = open.request.id
            channels.append(channel)
            page.append(channel, route: open.route)
        }
        let part = PlatformOutcome(platform: platform, outcome: outcome)
        let report = await read(
            AnsweredPage(page: page, parts: [part], outcome: outcome, details: details, isLate: true))
        let record = details.record
        let settlement = RetrySettlement(
            channels, SentPage(record: record, report: report), now: store.time.now(), staleBefore: context.staleBefore)
        await finish(as: .late(settlement, of: record))
    }

    /// Reads an answer for a request whose page is settled. Some requests are as good as unsent: a bad token goes
    /// to the app's other environment with the next retries, and a request that never left is no fault of the app.
    private func settled(_ outcome: PushOutcome, hasOther: Bool) -> PushOutcome {
        let isUnsent =
            switch outcome {
            case .accepted: false
            case .rejected: hasOther && outcome.mayLiveElsewhere
            case .unanswered(let noAnswer): noAnswer.isUnreachable
            }
        return isUnsent ? .unanswered(NoAnswer(.cancelled, mayHaveBeenDelivered: false)) : outcome
    }

    func attempt<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? {
        await repeated(log, while: { context.now < until }, body)
    }
    func ask<T: Sendable>(_ body: () async throws(StoreError) -> T) async -> T? { await attempt(body) }

    /// No request of these answers is open any more.
    func follow(_ sent: SentPage?) {}
    /// The requests lapse, and the name's next retries send the push again.
    func lose(_ sent: SentPage?, _ ends: RetrySettlement) {}
}
