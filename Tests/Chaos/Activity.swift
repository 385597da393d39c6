import Foundation

/// One name as its publisher and the devices know it: who follows with which token, and what was published. Its two lanes
/// run side by side on this actor; what they do depends on the plan alone, never on when it happens.
actor Activity {
    enum State: Sendable, Hashable {
        /// Does not follow, and may begin to.
        case out
        case following
        /// By the push of this number.
        case ended(Int)
        /// The `end` of this number either is its own, or it follows on.
        case unclear(Int)
        /// Removed without a time of its own: such a call may arrive late, so the channel never follows again.
        case retired
    }

    struct Place: Sendable {
        var state = State.out
        var generation: UInt16 = 0
        var fate = Fate.living
        /// Epoch ms: as the registration says, and when it was answered.
        var registered: Int64 = 0
        var answered: Int64 = 0
        /// Of the last thing that happened to it.
        var last: Int64 = 0
        /// Number of the last `end` for this channel before it.
        var after = 0
        /// Number of the start that its card began with: what was published since then is its own.
        var startedBy: Int?

        var isUnclear: Bool {
            if case .unclear = state { true } else { false }
        }
    }

    /// A token that does not count any more.
    struct Former: Sendable {
        var id: TokenID
        var registered: Int64
        /// Epoch ms when that was answered.
        var gone: Int64
    }

    /// A token that was following when an `end` for it was accepted.
    struct Ended: Sendable {
        var id: TokenID
        var place: Int
        /// As it was then.
        var was: Place
        /// Of the end.
        var number: Int
    }

    let plan: NamePlan
    let run: Plan
    let gateways: Gateways
    let pushes: Pushes
    let clock: Clock
    let found: Findings
    let startTokens: StartTokens?
    var places: [Place]
    var former: [Former] = []
    var ended: [Ended] = []
    /// The counter of the last publish.
    var number = 0
    var ends: [(number: Int, audience: Audience, answered: Int64)] = []
    var isEnded = false

    /// Pushes that were stopped, and that expired.
    var stopped = 0
    var expired = 0
    private(set) var disturber: Disturber?

    // Of a name that is begun by pushes.
    /// Starts as they were asked for, accepted or not yet.
    var starts: [Begun] = []
    /// Devices that are to tell a token: those of some channels for which a start was accepted.
    var cards: [Int: Card] = [:]
    /// Starts for whose cards tokens are being told.
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

    /// Everyone who follows from the start.
    func begin() async throws {
        if plan.isStarted { return }
        var random = SeededRandom(run.seed, "first of \(plan.index)")
        try await register(Array(0..<plan.initial), at: 0, &random)
    }

    /// - Parameter disturber: for what APNs does to this name alone, and from where devices learn of their starts.
    func live(_ disturber: Disturber) async {
        self.disturber = disturber
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

    /// Epoch ms by the device's clock, never the same twice for a channel: what happens to it has an order.
    func time(_ place: Int) -> Int64 {
        places[place].last = max(places[place].last + 1, now(place))
        return places[place].last
    }

    func now(_ place: Int) -> Int64 {
        let isSlow = run.actions.contains(.clocks) && !plan.isStarted && (plan.first + place) % 16 == 7
        return Clock.epoch - (isSlow ? 180_000 : 0)
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

    /// Tags of a channel of the run: a quarter each, and an eighth has both.
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
