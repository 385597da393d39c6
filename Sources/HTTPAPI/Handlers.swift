import Logging
import PrometheusText
import Redis
import Store
import StrictJSON

/// One method per operation; the others are in `Handlers+….swift`.
struct Handlers: Sendable {
    let store: Store
    let configuration: GatewayConfiguration
    let metrics: GatewayMetrics
    let registry: PrometheusRegistry

    func perform(_ call: Call) async throws(APIError) -> Answer {
        switch call.endpoint.operation {
        case .publish: try await publish(call)
        case .validate: try await validate(call)
        case .pushLedger: try await pushLedger(call)
        case .cancelPush: try await cancelPush(call)
        case .createChannel: try await createChannel(call)
        case .updateChannel: try await updateChannel(call)
        case .channelBatch: try await channelBatch(call)
        case .tagChannels: try await tagChannels(call)
        case .associate: try await associate(call)
        case .disassociate: try await disassociate(call)
        case .deviceToken: try deviceToken(call)
        case .listActivities: try await listActivities(call)
        case .activity: try await activity(call)
        case .track: try await track(call)
        case .untrack: try await untrack(call)
        case .bulkTrack: try await bulkTrack(call)
        case .schedules: throw APIError(501, "Schedules are not built yet; publish at the time instead.")
        case .health, .readiness, .metrics: throw .notFound
        }
    }

    /// What needs no app: called before authentication.
    func performOpen(_ operation: Operation) async throws(APIError) -> Answer? {
        switch operation {
        case .health: return Answer(200, ["ok": true, "version": .string(configuration.version)])
        case .readiness: return try await readiness()
        case .metrics: return await prometheus()
        default: return nil
        }
    }

    private func readiness() async throws(APIError) -> Answer {
        do throws(RedisError) {
            try await store.redis.send(RedisCommand("PING"))
            return Answer(200, ["ok": true])
        } catch {
            // A server that answers at all but cannot serve (LOADING, …) is not ready either.
            var problem = APIError(StoreError.redis(error))
            problem.status = 503
            problem.code = 50300
            problem.retryAfter = problem.retryAfter ?? 5
            throw problem
        }
    }

    /// Queue depths are asked for at each scrape; without Redis the process's own numbers still come.
    private func prometheus() async -> Answer {
        if let depths = try? await store.queue.depth(configuration.apps.map(\.key)) {
            for depth in depths { metrics.record(depth) }
        }
        return Answer(200, text: registry.text(), type: Answer.prometheusType)
    }
}
