// The files of this folder are compiled for iOS only. On Linux they are type-checked against a stand-in of Apple's
// declarations (Tests/StandIns), and have not run: `Registrar` behind them has, with `SimulatedActivities`. Mac
// Catalyst has the module ActivityKit, with each declaration unavailable.
#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import ActivityKit
    import Foundation

    /// The activities of one type. `Activity` is looked up by its id for each use, and so never crosses to another
    /// task.
    struct ActivityKitSource<Attributes: ActivityAttributes & SendableMetatype>: ActivitySource {
        let attributesType: String
        let name: @Sendable (Attributes) -> String

        var isOn: Bool { ActivityAuthorizationInfo().areActivitiesEnabled }

        var hasFrequentPushes: Bool { ActivityAuthorizationInfo().frequentPushesEnabled }

        func cards() -> [any Card] {
            Activity<Attributes>.activities.map { ActivityKitCard<Attributes>(id: $0.id, name: name($0.attributes)) }
        }

        func newCards() -> AsyncStream<any Card> {
            let name = name
            return stream { continuation in
                for await activity in Activity<Attributes>.activityUpdates {
                    let card = ActivityKitCard<Attributes>(id: activity.id, name: name(activity.attributes))
                    continuation.yield(card)
                }
            }
        }

        var startToken: Data? {
            guard #available(iOS 17.2, *) else { return nil }
            return Activity<Attributes>.pushToStartToken
        }

        func startTokens() -> AsyncStream<Data> {
            stream { continuation in
                guard #available(iOS 17.2, *) else { return }
                for await token in Activity<Attributes>.pushToStartTokenUpdates { continuation.yield(token) }
            }
        }

        func frequentPushes() -> AsyncStream<Bool> {
            stream { continuation in
                for await isOn in ActivityAuthorizationInfo().frequentPushEnablementUpdates { continuation.yield(isOn) }
            }
        }
    }

    private struct ActivityKitCard<Attributes: ActivityAttributes & SendableMetatype>: Card {
        let id: String
        let name: String

        /// The activity of this card. Nil: ActivityKit does not list it now.
        private var activity: Activity<Attributes>? { Activity<Attributes>.activities.first { $0.id == id } }

        var token: Data? { activity?.pushToken }
        var state: CardState? { activity.map { CardState($0.activityState) } }
        var mark: String? { activity.flatMap { Self.mark($0.content.state) } }

        // Each sequence below begins with the present value, because ActivityKit's may begin with the next change.

        func tokens() -> AsyncStream<Data> {
            stream { continuation in
                guard let activity else { return }
                var last: Data?
                if let token = activity.pushToken {
                    continuation.yield(token)
                    last = token
                }
                for await token in activity.pushTokenUpdates where token != last {
                    continuation.yield(token)
                    last = token
                }
            }
        }

        func states() -> AsyncStream<CardState> {
            stream { continuation in
                guard let activity else { return }
                continuation.yield(CardState(activity.activityState))
                for await state in activity.activityStateUpdates { continuation.yield(CardState(state)) }
            }
        }

        func marks() -> AsyncStream<String?> {
            stream { continuation in
                guard let activity else { return }
                continuation.yield(Self.mark(activity.content.state))
                for await content in activity.contentUpdates { continuation.yield(Self.mark(content.state)) }
            }
        }

        private static func mark(_ state: Attributes.ContentState) -> String? {
            (state as? any LamplighterContent)?.lamplighter
        }
    }

    extension CardState {
        fileprivate init(_ state: ActivityState) {
            if #available(iOS 26.0, *), state == .pending {
                self = .pending
                return
            }
            self =
                switch state {
                case .ended: .ended
                case .dismissed: .dismissed
                // A stale card is there.
                default: .active
                }
        }
    }

    private func stream<Element: Sendable>(
        _ body: @escaping @Sendable (AsyncStream<Element>.Continuation) async -> Void
    ) -> AsyncStream<Element> {
        AsyncStream { continuation in
            let task = Task {
                await body(continuation)
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
#endif
