import LiveActivity
import Logging
import ServiceLifecycle
import Store
import Synchronization

/// Notes the actions of callers with a secret in the log of their app.
///
/// A rare action is noted before its answer. Frequent ones are noted beside the requests, within a second or summed up
/// within a minute, so that a publish costs no round trip more. If the process dies, these are lost; each push itself
/// names its publisher. The recorder tries again the actions that Redis does not take, as long as the process lives.
final class ActionRecorder: Service {
    private struct State {
        var sums = ActionSums()
        var waiting: [(app: AppKey, action: Action)] = []
        var leftOut = 0
    }

    /// The most actions that wait for Redis.
    private static let mostWaiting = 10_000
    /// The most actions of one call of the script.
    private static let mostAtOnce = 500
    private static let interval: Duration = .seconds(1)

    private let actions: Actions
    private let logger: Logger
    private let state = Mutex(State())

    init(_ actions: Actions, logger: Logger) {
        self.actions = actions
        self.logger = logger
    }

    /// Runs the handler of a call, and notes what it did. A call that failed is noted if it did a part, or may have.
    /// - Parameter kind: nil: the call is not in the log
    func record(
        _ kind: ActionKind?, _ caller: Publisher, _ operation: String, _ parameters: [String: String], of app: AppKey,
        _ handle: () async throws -> Answer
    ) async throws -> Answer {
        do {
            let answer = try await handle()
            if let kind = kind.map({ answer.acted ?? $0 }), (200..<300).contains(answer.status),
                !answer.changedNothing
            {
                await note(kind, answer.action(kind, caller, operation, parameters), of: app)
            }
            return answer
        } catch {
            let failure = APIError(thrown: error)
            // The store may have done a part before it refused the rest, for instance of several channels.
            if let kind, failure.applied > 0 || failure.status >= 500 || error is StoreError {
                let answer = Answer(failure, operation: operation).about([:], count: failure.applied)
                var action = answer.action(kind, caller, operation, parameters)
                action.failed = failure.status
                await note(kind, action, of: app)
            }
            throw failure
        }
    }

    func note(_ kind: ActionKind, _ action: Action, of app: AppKey) async {
        guard actions.policy.keep > 0 else { return }
        if kind.isFrequent {
            state.withLock { state in
                if let action = state.sums.take(action, of: app, at: .now) { Self.wait([(app, action)], &state) }
            }
            return
        }
        do throws(StoreError) {
            try await actions.add(app, [action])
        } catch {
            state.withLock { Self.wait([(app, action)], &$0) }
        }
    }

    func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.interval) }
            await flush()
        }
    }

    /// Writes what waits. `all`: also the sums whose minute is not over.
    func flush(all: Bool = false) async {
        let (waiting, leftOut) = state.withLock { state in
            Self.wait(state.sums.over(at: .now, all: all), &state)
            defer { (state.waiting, state.leftOut) = ([], 0) }
            return (state.waiting, state.leftOut)
        }
        if leftOut > 0 {
            logger.warning(
                "Redis refused entries of the log of actions, and some were dropped",
                metadata: ["left_out": "\(leftOut)"])
        }
        for (app, entries) in Dictionary(grouping: waiting, by: \.app) {
            for start in stride(from: 0, to: entries.count, by: Self.mostAtOnce) {
                let part = entries[start..<min(start + Self.mostAtOnce, entries.count)]
                do throws(StoreError) {
                    try await actions.add(app, part.map(\.action))
                } catch {
                    state.withLock { Self.wait(Array(part), &$0) }
                }
            }
        }
    }

    private static func wait(_ entries: [(app: AppKey, action: Action)], _ state: inout State) {
        let room = max(0, mostWaiting - state.waiting.count)
        state.waiting += entries.prefix(room)
        state.leftOut += max(0, entries.count - room)
    }
}
