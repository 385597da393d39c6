import Delivery
import LiveActivity

/// One app's servers of a platform: the first, and the other environment if the app is configured for both. An address
/// lives in one of them, and only the platform's answer tells in which. If one environment calls an address bad, it is
/// tried once in the other, as part of the same attempt.
struct Environments: Sendable {
    let first: any PushTransport
    let other: (any PushTransport)?

    /// Sends a page, each entry by its route.
    /// - Parameters:
    ///   - platform: only the entries on this platform are sent; nil: the page is on one platform
    ///   - trace: keeps the exchanges of the entry with the route `traced`
    ///   - handover: the page is taken back before each request has its answer
    /// - Returns: the plan with the page's outcome
    func sendParts(
        _ page: TokenPage, _ push: PreparedPush, on platform: Platform? = nil, trace: ExchangeRecorder? = nil,
        while permission: any SendPermission = AlwaysPermitted(), _ handover: Handover? = nil
    ) async -> PagePlan {
        var plan = PagePlan(page, on: platform, hasOther: other != nil)
        // A part that is nearly done says nothing about the others.
        let handover = plan.parts.count == 1 ? handover : handover.map { _ in Handover() }
        @Sendable func sendByRoute(_ part: TokenPage) async -> PageOutcome {
            let route = part.route
            var push = push
            if route.contains(.variant), let body = push.variantBody { push.body = body }
            if route.contains(.traced) { push.trace = trace }
            return await (route.contains(.elsewhere) ? other ?? first : first)
                .send(part, push, while: permission, handover)
        }
        while let first = plan.parts.first {
            let others = plan.parts.dropFirst()
            plan.add(
                await withTaskGroup { group in
                    for (number, part) in others.enumerated() {
                        group.addTask { (number + 1, await sendByRoute(part)) }
                    }
                    // Most pages are one part, which needs no child task.
                    var outcomes = [await sendByRoute(first)]
                    outcomes += Array(repeating: PageOutcome(), count: others.count)
                    for await (number, outcome) in group { outcomes[number] = outcome }
                    return outcomes
                })
        }
        return plan
    }
}
