import Answers
import LiveActivity
import Store

/// The response of `/readyz`, for a gateway or a worker. The process is ready as long as Redis answers.
struct Readiness: Sendable {
    let store: Store
    let apps: [AppKey]

    func answer() async throws(APIError) -> Answer {
        do throws(StoreError) {
            try await store.ping()
        } catch {
            // Redis that answers but cannot serve (LOADING, …) is not ready either.
            var problem = APIError(error)
            problem.status = 503
            problem.code = 50300
            problem.retryAfter = problem.retryAfter ?? 5
            throw problem
        }
        // An alarm does not make the process unready: publishes are still accepted, and their work is kept.
        let state = await store.partialSnapshot(apps, [.alarms, .pauses])
        let paused = state.pauses.isEmpty ? nil : state.pauses.map(\.answer)
        return Answer(200, ReadinessAnswer(alarms: state.alarms.map(\.answer), paused: paused))
    }
}

extension Alarm {
    var answer: AlarmAnswer {
        AlarmAnswer(
            app: app.rawValue, kind: kind.rawValue, platform: platformName, reason: reason,
            since: TimeText.text(since))
    }
}

extension Pause {
    var answer: PauseAnswer {
        PauseAnswer(app: app.rawValue, name: name?.rawValue, since: TimeText.text(since))
    }
}
