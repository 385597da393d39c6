import LiveActivity
import Logging
import PrometheusText
import Store
import StrictJSON

/// One method per operation. The other methods are in `Handlers+….swift`.
struct Handlers: Sendable {
    let store: Store
    let configuration: GatewayConfiguration
    let bounds: QueueBounds
    let metrics: GatewayMetrics
    let registry: PrometheusRegistry
    let schemas: SchemaBook
    let nearNames = NearNames()

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
        case .identifyContact: try await identifyContact(call)
        case .updateContact: try await updateContact(call)
        case .remoteData: try remoteData(call)
        case .listActivities: try await listActivities(call)
        case .activity: try await activity(call)
        case .track: try await track(call)
        case .untrack: try await untrack(call)
        case .bulkTrack: try await bulkTrack(call, place: call.name())
        case .startTokens: try await startTokens(call)
        case .setStartToken: try await setStartToken(call)
        case .removeStartToken: try await removeStartToken(call)
        case .bulkStartTokens: try await bulkTrack(call, place: call.startTokens())
        case .listDead: try await listDead(call)
        case .deadLetter: try await deadLetter(call)
        case .retryDead: try await retryDead(call)
        case .dropDead: try await dropDead(call)
        case .listBroadcasts: try await listBroadcasts(call)
        case .broadcast: try await broadcast(call)
        case .createBroadcast: try await createBroadcast(call)
        case .deleteBroadcast: try await deleteBroadcast(call)
        case .listQuarantine: try await listQuarantine(call)
        case .releaseQuarantine: try await releaseQuarantine(call)
        case .discardQuarantine: try await discardQuarantine(call)
        case .describeActivity: try await describeActivity(call)
        case .listSchemas: try await listSchemas(call)
        case .schema: try await schema(call)
        case .setSchema: try await setSchema(call)
        case .deleteSchema: try await deleteSchema(call)
        case .createSchedules: try await createSchedules(call)
        case .listSchedules: try await listSchedules(call)
        case .schedule: try await schedule(call)
        case .replaceSchedule: try await replaceSchedule(call)
        case .cancelSchedule: try await cancelSchedule(call)
        case .health, .readiness, .metrics: throw .notFound
        }
    }

    /// Handles calls that need no app. It runs before authentication.
    func performOpen(_ operation: Operation) async throws(APIError) -> Answer {
        switch operation {
        case .health: return Answer(200, ["ok": true, "version": .string(configuration.version)])
        case .readiness:
            return try await Readiness(store: store, apps: configuration.apps.map(\.key)).answer()
        case .metrics: return await prometheus()
        default: throw .notFound
        }
    }

    /// Reads queue depths and alarms from Redis at each scrape. Without Redis
    /// the process still reports its own metrics.
    private func prometheus() async -> Answer {
        let apps = configuration.apps.map(\.key)
        if let depths = try? await store.queue.depth(apps) {
            for depth in depths { metrics.record(depth) }
        }
        if let alarms = try? await store.alarms.list(apps) { metrics.record(alarms, of: apps) }
        for app in apps {
            if let names = try? await store.quarantine.count(app) { metrics.quarantined(app, names: names) }
            if let pushes = try? await store.deadLetters.count(app) { metrics.deadLetters(app, pushes: pushes) }
            if let counts = try? await store.broadcasts.counts(app) { metrics.broadcasts(app, counts) }
        }
        return Answer(200, text: registry.text(), type: Answer.prometheusType)
    }
}
