import Foundation

/// One name as its publisher and its devices know it: the channels that follow, their tokens, and the published pushes.
///
/// Publishes and registrations run side by side on this actor. The result depends only on the plan, and
/// never on when it happens.
actor Activity {
    enum State: Sendable, Hashable {
        /// The channel does not follow, and may begin to.
        case out
        case following
        /// The push with this number ended it.
        case ended(Int)
        /// It is unknown whether the `end` with this number was for this channel, or whether the channel follows on.
        case unclear(Int)
        /// The channel was removed by a call without a time. The call may arrive late, so the channel
        /// never follows again.
        case retired
    }

    struct Place: Sendable {
        var state = State.out
        var generation: UInt16 = 0
        var fate = Fate.living
        /// The time in the registration, and the time of its response. Epoch ms.
        var registered: Int64 = 0
        var answered: Int64 = 0
        /// When a change that took several attempts was last answered, epoch ms.
        var repeated: Int64 = 0
        /// The time of the last change of this place.
        var last: Int64 = 0
        /// When the channel was forgotten, epoch ms.
        var forgotten: Int64 = 0
        /// The number of the last `end` for this channel before its registration.
        var after = 0
        /// The same for ends for everyone. Nothing from before it is for this card.
        var closed = 0
        /// The number of the start that created its card. Pushes published after it are for this card.
        var startedBy: Int?

        var isUnclear: Bool {
            if case .unclear = state { true } else { false }
        }
    }

    /// A token that was replaced or removed.
    struct Former: Sendable {
        var id: TokenID
        var registered: Int64
        /// Epoch ms of the response to that change.
        var answered: Int64
        /// Epoch ms from which no push may reach it: later than the response if a worker may have to finish the change.
        var gone: Int64
    }

    /// A former token whose repeated registration was not reported as stale.
    struct Returned: Sendable {
        var former: Former
        var answer: String
    }

    /// A token that followed when an `end` for it was accepted.
    struct Ended: Sendable {
        var id: TokenID
        var place: Int
        /// The place at that time.
        var was: Place
        /// The number of the end.
        var number: Int
    }

    /// Looks at something until it is over, 0.2 s apart: at least a quarter of an hour, because a push lasts as long as
    /// the faults of its tokens and the pauses of its retries. The limit only ends a hang.
    static let looks = 4_500

    /// Ms until nothing is left of a forgotten channel if the gateway died meanwhile: a worker goes on a minute later.
    /// On a slow machine (`--late`) workers are late here too.
    nonisolated var forgetting: Int64 { 75_000 + run.late - Plan.usuallyLate }

    let plan: NamePlan
    let run: Plan
    let gateways: Gateways
    let pushes: Pushes
    let clock: Clock
    let found: Findings
    let startTokens: StartTokens?
    var places: [Place]
    var former: [Former] = []
    var returned: [Returned] = []
    var ended: [Ended] = []
    /// The number of the last publish.
    var number = 0
    var ends: [(number: Int, audience: Audience, answered: Int64)] = []
    var isEnded = false

    /// How many pushes were stopped, and how many expired.
    var stopped = 0
    var expired = 0
    private(set) var disturber: Disturber?

    // For a name whose cards pushes create.
    /// Starts that were requested, whether accepted yet or not.
    var starts: [RequestedStart] = []
    /// Devices that will report a token, for some channels of each accepted start.
    var cards: [Int: Card] = [:]
    /// Starts whose cards are reporting their tokens right now.
    var answering: Set<Int> = []

    init(
        _ plan: NamePlan, _ run: Plan, _ gateways: Gateways, _ pushes: Pushes, _ clock: Clock, _ found: Findings,
        _ startTokens: StartTokens? = nil
    ) {
        self.plan = plan
        self.run = run
        self.gateways = gateways
        self.pushes = pushes
        self.clock = clock
        self.found = found
        self.startTokens = startTokens
        places = Array(repeating: Place(), count: plan.pool)
        number = plan.numbersFrom
    }

    /// Registers all channels that follow from the beginning.
    func begin() async throws {
        if plan.isStarted { return }
        var random = SeededRandom(run.seed, "first of \(plan.index)")
        try await register(Array(0..<plan.initial), at: 0, &random)
    }

    /// Runs the plan of this name.
    /// - Parameter disturber: changes what APNs does to this name alone. It also tells where devices
    ///   learn of their starts.
    func live(_ disturber: Disturber) async {
        self.disturber = disturber
        if plan.hasBroadcastChannel { await decided("broadcast channel") { try await self.makeBroadcastChannel() } }
        async let answered: Void = answerAll(disturber.controlURL)
        await liveStages()
        await answered
    }

    private func liveStages() async {
        for stage in plan.stages {
            async let published: Void = publishAll(stage)
            async let registered: Void = registerAll(stage)
            _ = await (published, registered)
            guard let end = stage.end else { continue }
            await clock.sleep(until: end.at)
            await decided("end") { try await self.end(end) }
        }
    }

    private func publishAll(_ stage: Stage) async {
        for planned in stage.publishes {
            await clock.sleep(until: planned.at)
            await decided("publish") { try await self.publish(planned) }
        }
    }

    private func registerAll(_ stage: Stage) async {
        for planned in stage.registrations {
            await clock.sleep(until: planned.at)
            await decided("registrations") { try await self.change(planned) }
        }
    }

    private func decided(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { found.note(.undecided, "\(plan.name): \(what): \(error)") }
    }

    func token(_ place: Int) -> TokenID { token(place, places[place]) }

    nonisolated func token(_ number: Int, _ place: Place) -> TokenID {
        TokenID(name: UInt16(plan.index), place: UInt32(number), generation: place.generation, fate: place.fate)
    }

    /// Epoch ms by the device's clock. Never the same twice for a channel, so that its changes have an order.
    func time(_ place: Int) -> Int64 {
        places[place].last = max(places[place].last + 1, now(place))
        return places[place].last
    }

    func now(_ place: Int) -> Int64 {
        Clock.epoch - (hasSlowClock(place) ? 180_000 : 0)
    }

    /// Times that are ahead of Redis's clock count as now, so their order is lost. Slow clocks stay behind a clock that
    /// steps.
    func hasSlowClock(_ place: Int) -> Bool {
        run.stepsRedisClocks || run.actions.contains(.clocks) && !plan.isStarted && (plan.first + place) % 16 == 7
    }

    func lastEnd(_ place: Int) -> Int { ends.last { covers($0.audience, place) }?.number ?? 0 }

    nonisolated func covers(_ audience: Audience, _ place: Int) -> Bool {
        let tags = Self.tags(plan.first + place)
        return switch audience {
        case .all: true
        case .tagA: tags.a
        case .tagB: tags.b
        case .both: tags.a && tags.b
        case .either: tags.a || tags.b
        case .notA: !tags.a
        case .channel(let only): only == place
        }
    }

    /// The tags of a channel. A quarter of the channels has each tag, and an eighth has both.
    static func tags(_ channel: Int) -> (a: Bool, b: Bool) {
        let part = channel % 8
        return (part < 2, part == 1 || part == 2)
    }

    static func channel(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return "c4a05000-0000-4000-8000-" + String(repeating: "0", count: 12 - text.count) + text
    }

    func channel(_ place: Int) -> String { Self.channel(plan.first + place) }
}
