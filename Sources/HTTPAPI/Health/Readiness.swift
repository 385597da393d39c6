import LiveActivity
import Store
import StrictJSON

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
        let paused: JSON? = state.pauses.isEmpty ? nil : .array(state.pauses.map(\.json))
        return Answer(200, .fields(["ok": true, "alarms": .array(state.alarms.map(\.json)), "paused": paused]))
    }
}

extension Alarm {
    var json: JSON {
        [
            "app": .string(app.rawValue), "kind": .string(kind.rawValue), "reason": .string(reason),
            "since": .string(TimeText.text(since)),
        ]
    }
}

extension Pause {
    var json: JSON {
        .fields([
            "app": .string(app.rawValue), "name": name.map { .string($0.rawValue) },
            "since": .string(TimeText.text(since)),
        ])
    }
}
