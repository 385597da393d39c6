import APNsWire
import Delivery
import LiveActivity

/// One app's APNs servers: the first, and the other environment if the app is configured for both. A token lives in one
/// of them, and only APNs's answer tells in which. If one environment calls a token bad, the token is tried once in the
/// other, as part of the same attempt.
struct Environments: Sendable {
    /// The entry of a page whose exchanges are kept.
    struct Traced: Sendable {
        var index: Int
        let trace = ExchangeRecorder()
    }

    let first: any PushTransport<PreparedPush>
    let other: (any PushTransport<PreparedPush>)?

    /// The longest time from the moment when a request is open to its answer.
    var requestTimeout: Duration { max(first.requestTimeout, other?.requestTimeout ?? .zero) }

    /// Sends a page, each entry to the environment where its token lives.
    /// - Parameters:
    ///   - variant: another push, and the indices of the entries that get it
    ///   - traced: an entry that is sent in a page of its own, which its trace describes
    ///   - known: indices of entries that are known to live in the other environment
    ///   - handover: the page is taken back before each request has its answer
    /// - Returns: the plan with the page's outcome
    func sendParts(
        _ page: TokenPage, _ push: PreparedPush, variant: (push: PreparedPush, entries: Set<Int>)? = nil,
        known: Set<Int> = [], traced: Traced? = nil, while permission: any SendPermission = StandingPermission(),
        _ handover: Handover? = nil
    ) async -> PagePlan {
        var plan = PagePlan(
            page.count, variant: variant?.entries ?? [], elsewhere: known, traced: traced?.index, hasOther: other != nil
        )
        // A part that is nearly done says nothing about the others.
        let handover = plan.parts.count == 1 ? handover : handover.map { _ in Handover() }
        @Sendable func sendToItsEnvironment(_ part: PagePlan.Part) async -> PageOutcome {
            var push = part.isVariant ? variant?.push ?? push : push
            if part.isTraced { push.trace = traced?.trace }
            return await (part.isElsewhere ? other ?? first : first)
                .sendPart(part, of: page, push, while: permission, handover)
        }
        while let first = plan.parts.first {
            let others = plan.parts.dropFirst()
            plan.add(
                await withTaskGroup { group in
                    for (number, part) in others.enumerated() {
                        group.addTask { (number + 1, await sendToItsEnvironment(part)) }
                    }
                    // Most pages are one part, which needs no child task.
                    var outcomes = [await sendToItsEnvironment(first)]
                    outcomes += Array(repeating: PageOutcome(), count: others.count)
                    for await (number, outcome) in group { outcomes[number] = outcome }
                    return outcomes
                })
        }
        return plan
    }
}

extension WorkerApp {
    var environments: Environments { Environments(first: transport, other: otherTransport) }
}
