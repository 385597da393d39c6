import LiveActivity
import Redis
import Store
import StrictJSON

/// What `/readyz` says, of a gateway and of a worker: ready as long as Redis answers.
struct Readiness: Sendable {
    let store: Store
    let apps: [AppKey]

    func answer() async throws(APIError) -> Answer {
        do throws(RedisError) {
            try await store.redis.send(Store.ping)
        } catch {
            // A server that answers at all but cannot serve (LOADING, …) is not ready either.
            var problem = APIError(StoreError.redis(error))
            problem.status = 503
            problem.code = 50300
            problem.retryAfter = problem.retryAfter ?? 5
            throw problem
        }
        // An alarm is for people: publishes are taken all the same, and their work is kept.
        let alarms = (try? await store.alarms.list(apps)) ?? []
        return Answer(200, ["ok": true, "alarms": .array(alarms.map(\.json))])
    }
}

extension Alarm {
    var json: JSON {
        [
            "app": .string(app.rawValue), "kind": .string(kind.rawValue), "reason": .string(reason),
            "since": .string(Instant.text(since)),
        ]
    }
}
