import Delivery
import LiveActivity
import Store

/// A push in the form of each platform that the app has, made once for all pages of a run. A page may have followers on
/// several platforms: each entry goes to its own platform, and the page is settled once.
struct RenderedPush: Sendable {
    private struct Form {
        let sender: any PlatformSender
        let push: PreparedPush
        /// Why the push fails at each address of the platform. Nil: it can be sent.
        var refusal: String? { push.refusal }
    }

    /// The reason in the ledger's `errors` for followers on a platform that the app does not have on this worker.
    static let noSender = "NoSender"

    private let forms: [Form]
    private let record: PushRecord
    private let name: ActivityName
    private let receivers: PushReceivers

    init(
        _ record: PushRecord, for senders: [any PlatformSender], _ name: ActivityName,
        to receivers: PushReceivers = .followers
    ) {
        forms = senders.map { Form(sender: $0, push: $0.render(record, name, for: receivers)) }
        (self.record, self.name, self.receivers) = (record, name, receivers)
    }

    /// Some entries of a start's page may get the variant for the name's broadcast channel.
    var hasVariant: Bool { forms.contains { $0.push.variantBody != nil } }
    /// Why the push fails at each address. Nil: a platform can send it.
    var refusal: String? { forms.contains { $0.refusal == nil } ? nil : forms.first?.refusal }

    /// Sends each entry of a page to its platform, to all platforms at once.
    /// - Parameters:
    ///   - refused: platforms that refuse the push, and why; nothing is sent to them
    ///   - trace: keeps the exchanges of the entry with the route `traced`
    ///   - handover: lets the page come back early, if it is on one platform
    /// - Returns: the plan with the page's outcome, and a part for each platform of the page
    func send(
        _ page: TokenPage, refused: [Platform: String] = [:], trace: ExchangeRecorder?,
        while permission: any SendPermission, _ handover: Handover
    ) async -> (PagePlan, [PlatformOutcome]) {
        let platforms = page.platforms
        @Sendable func send(
            _ platform: Platform, of several: Bool, _ permission: any SendPermission
        ) async -> (PagePlan, PlatformOutcome) {
            let form = forms.first { $0.sender.platform == platform }
            let stop = refused[platform]
            guard let form, form.refusal == nil, stop == nil else {
                let indices = page.entries.indices.filter { page.entries[$0].platform == platform }
                let part = PlatformOutcome(
                    platform: platform, refusal: (indices, stop ?? form?.refusal ?? Self.noSender),
                    isStopped: stop != nil)
                return (PagePlan(page, on: platform), part)
            }
            var push = form.push
            if platform.hasOneAddress {
                let lost = page.entries.filter { $0.platform == platform && $0.route.contains(.variant) }
                if !lost.isEmpty {
                    push.variantBody = form.sender.variant(
                        record.behind(lost.map(\.registeredAt)), name, for: receivers)
                }
            }
            // A part that is nearly done says nothing about the others.
            let plan = await form.sender.environments.sendParts(
                page, push, on: several ? platform : nil, trace: trace, while: permission,
                several ? Handover() : handover)
            return (plan, PlatformOutcome(platform: platform, outcome: plan.outcome))
        }
        // Most pages are on one platform, which needs no child task.
        guard platforms.count > 1 else {
            let (plan, part) = await send(platforms.first ?? .ios, of: false, permission)
            return (plan, [part])
        }
        let permission = Impatient(permission) { TurnWait.near }
        return await withTaskGroup { group in
            for platform in platforms { group.addTask { await send(platform, of: true, permission) } }
            var (plans, parts): ([PagePlan], [PlatformOutcome]) = ([], [])
            for await (plan, part) in group {
                plans.append(plan)
                parts.append(part)
            }
            return (plans.dropFirst().reduce(into: plans[0]) { $0.add($1) }, parts)
        }
    }
}

/// A permission for a page for which others wait: the page's followers on other platforms, the name's next push, or the
/// end of the worker.
struct Impatient: SendPermission {
    let permission: any SendPermission
    /// How long those that wait now leave the page. Nil: nobody waits.
    let left: @Sendable () -> Duration?
    var holds: Bool { permission.holds }
    var patience: Duration? {
        guard let left = left() else { return permission.patience }
        return min(left, permission.patience ?? left)
    }

    init(_ permission: any SendPermission, _ left: @escaping @Sendable () -> Duration?) {
        (self.permission, self.left) = (permission, left)
    }
}

extension PushRecord {
    /// The push under a second that is not before any of these times, epoch ms. A device takes no start from before it
    /// lost its card.
    func behind(_ times: [Int64]) -> PushRecord {
        var record = self
        let latest = Int((times.max() ?? 0) + 999) / 1_000
        record.second = max(second ?? timestamp, latest)
        return record
    }
}

/// The outcome of a page for its entries on one platform.
struct PlatformOutcome: Sendable {
    let platform: Platform
    var outcome = PageOutcome()
    /// The entries' indices, and why nothing was sent to them. Nil: they were sent.
    var refusal: (indices: [Int], reason: String)?
    /// The platform refused the push before, in the answer to another entry.
    var isStopped = false
}
