public import Foundation

/// Plays ActivityKit for one attributes type, in the tests of an app: `Lamplighter.follow(_:)` takes it, on Linux and
/// macOS too. It can be late and silent, as ActivityKit is now and then.
public final class SimulatedActivities: Sendable {
    struct Activity {
        var name: String
        var token: Data?
        var state: CardState
        var mark: String?
        var tokens: [AsyncStream<Data>.Continuation] = []
        var states: [AsyncStream<CardState>.Continuation] = []
        var marks: [AsyncStream<String?>.Continuation] = []

        mutating func endSequences() {
            for sequence in tokens { sequence.finish() }
            for sequence in states { sequence.finish() }
            for sequence in marks { sequence.finish() }
            (tokens, states, marks) = ([], [], [])
        }
    }

    struct State {
        var activities: [String: Activity] = [:]
        var startToken: Data?
        var isOn = true
        var hasFrequentPushes = true
        var isSilent = false
        /// How many looks find an empty list.
        var emptyLooks = 0
        var new: [AsyncStream<any Card>.Continuation] = []
        var starts: [AsyncStream<Data>.Continuation] = []
        var settings: [AsyncStream<Bool>.Continuation] = []

        /// A look at ActivityKit's list.
        mutating func listed() -> [String: Activity] {
            guard emptyLooks > 0 else { return activities }
            emptyLooks -= 1
            return [:]
        }
    }

    let attributesType: String
    private let state = Guarded(State())

    /// - Parameter type: the name of the attributes type.
    public init(type: String) { attributesType = type }

    func withState<R>(_ body: (inout State) -> R) -> R { state.withLock(body) }

    // MARK: What happens on the phone

    /// A card begins, by the app or by a push.
    ///
    /// - Parameter startsLater: it is scheduled (iOS 26), until `activate`.
    public func begin(_ id: String, name: String, token: Data?, startsLater: Bool = false) {
        let new = withState { state in
            state.activities[id] = Activity(name: name, token: token, state: startsLater ? .pending : .active)
            return state.isSilent ? [] : state.new
        }
        for sequence in new { sequence.yield(SimulatedCard(id: id, name: name, activities: self)) }
    }

    public func activate(_ id: String) { move(id, to: .active) }

    /// A card gets another push token.
    public func rotate(_ id: String, to token: Data) {
        let tokens = change(id) { activity in
            activity.token = token
            return activity.tokens
        }
        for sequence in tokens ?? [] { sequence.yield(token) }
    }

    /// A card shows a push, whose content state has this `lamplighter`.
    public func show(_ mark: String, on id: String) {
        let marks = change(id) { activity in
            activity.mark = mark
            return activity.marks
        }
        for sequence in marks ?? [] { sequence.yield(mark) }
    }

    /// A card ends, and stays on the lock screen.
    public func end(_ id: String) { move(id, to: .ended) }

    /// A card leaves the lock screen, and the list.
    public func dismiss(_ id: String) {
        move(id, to: .dismissed)
        leave(id)
    }

    /// A card leaves the list while the app is away. No sequence reports it.
    public func leave(_ id: String) {
        withState { state in
            state.activities[id]?.endSequences()
            state.activities[id] = nil
        }
    }

    /// The type gets another push-to-start token.
    public func setStartToken(_ token: Data) {
        let starts = withState { state in
            state.startToken = token
            return state.isSilent ? [] : state.starts
        }
        for sequence in starts { sequence.yield(token) }
    }

    /// The user allows frequent pushes, or does not.
    public func setFrequentPushes(_ isOn: Bool) {
        let settings = withState { state in
            state.hasFrequentPushes = isOn
            return state.isSilent ? [] : state.settings
        }
        for sequence in settings { sequence.yield(isOn) }
    }

    /// The user switches Live Activities off: all cards leave.
    public func switchOff() {
        withState { state in
            state.isOn = false
            for id in state.activities.keys { state.activities[id]?.endSequences() }
            state.activities = [:]
        }
    }

    // MARK: ActivityKit at its worst

    /// The next looks find an empty list: just after a launch some, in an extension all (`.max`).
    public func listNothing(looks: Int) { withState { $0.emptyLooks = looks } }

    /// Values change, and no sequence reports the change.
    public func setSilent(_ isSilent: Bool) { withState { $0.isSilent = isSilent } }

    /// All sequences of all cards end, and the cards live on.
    public func endSequences() {
        withState { state in
            for id in state.activities.keys { state.activities[id]?.endSequences() }
        }
    }

    private func move(_ id: String, to card: CardState) {
        let states = change(id) { activity in
            activity.state = card
            return activity.states
        }
        for sequence in states ?? [] { sequence.yield(card) }
    }

    /// - Returns: the sequences that tell of the change. Nil: there is no such card.
    private func change<S>(_ id: String, _ body: (inout Activity) -> [S]) -> [S]? {
        withState { state in
            guard var activity = state.activities[id] else { return nil }
            let told = body(&activity)
            state.activities[id] = activity
            return state.isSilent ? [] : told
        }
    }
}

extension SimulatedActivities: ActivitySource {
    var isOn: Bool { withState { $0.isOn } }
    var startToken: Data? { withState { $0.startToken } }
    var hasFrequentPushes: Bool { withState { $0.hasFrequentPushes } }

    func cards() -> [any Card] {
        withState { $0.listed() }.map { SimulatedCard(id: $0.key, name: $0.value.name, activities: self) }
    }

    func newCards() -> AsyncStream<any Card> { stream { $0.new.append($1) } }

    func startTokens() -> AsyncStream<Data> { stream { $0.starts.append($1) } }

    func frequentPushes() -> AsyncStream<Bool> { stream { $0.settings.append($1) } }

    func stream<Element: Sendable>(
        _ add: (inout State, AsyncStream<Element>.Continuation) -> Void
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream<Element>.makeStream()
        withState { add(&$0, continuation) }
        return stream
    }
}

private struct SimulatedCard: Card {
    let id: String
    let name: String
    let activities: SimulatedActivities

    private var activity: SimulatedActivities.Activity? { activities.withState { $0.listed()[id] } }
    var token: Data? { activity?.token }
    var state: CardState? { activity?.state }
    var mark: String? { activity?.mark }

    func tokens() -> AsyncStream<Data> {
        sequence(\.tokens) { activity, tokens in if let token = activity.token { tokens.yield(token) } }
    }

    func states() -> AsyncStream<CardState> { sequence(\.states) { $1.yield($0.state) } }

    func marks() -> AsyncStream<String?> { sequence(\.marks) { $1.yield($0.mark) } }

    private func sequence<Element: Sendable>(
        _ sequences: WritableKeyPath<SimulatedActivities.Activity, [AsyncStream<Element>.Continuation]>,
        _ begin: (SimulatedActivities.Activity, AsyncStream<Element>.Continuation) -> Void
    ) -> AsyncStream<Element> {
        activities.stream { state, continuation in
            guard let activity = state.listed()[id] else { return continuation.finish() }
            begin(activity, continuation)
            state.activities[id]?[keyPath: sequences].append(continuation)
        }
    }
}

/// A value under a lock. iOS 16 has no `Mutex`.
private final class Guarded<Value>: @unchecked Sendable {  // `lock` guards `value`.
    private let lock = NSLock()
    private var value: Value

    init(_ value: Value) { self.value = value }

    func withLock<R>(_ body: (inout Value) -> R) -> R {
        lock.lock()
        defer { lock.unlock() }
        return body(&value)
    }
}
