import HTTPTypes
import LiveActivity
import Logging
import ServiceLifecycle
import Store
import StrictJSON
import Threads

/// Publishes the entries of the apps' intakes, exactly as `POST /api/push` would. One gateway at a time does so for an
/// app; another takes over when it ends or stalls. A name that takes no more, or whose node of a cluster is away, holds
/// up only its own entries (`IntakeBacklog`).
struct IntakeService: Service {
    private static let pause: Duration = .seconds(1)

    let live: Replaceable<GatewayResponder.Served>
    private var parts: GatewayParts { live.current.parts }
    let callers: [Caller]
    let recorder: ActionRecorder
    let logger: Logger
    /// Epoch milliseconds.
    let clock: @Sendable () -> Int64
    private let owner = UUIDBytes.random().description

    private static let publisher = Publisher(credential: AppCredential.intakeID, address: "redis")

    /// The parts that a request of the app's publisher would have.
    struct Caller: Sendable {
        let app: GatewayApp
        let tokens: SDKTokens
    }

    init(_ gateway: GatewayFeature.Running) {
        live = gateway.live
        callers = live.current.configuration.apps.map { Caller(app: $0, tokens: SDKTokens(app: $0)) }
        (recorder, logger, clock) = (gateway.recorder, gateway.logger, gateway.clock)
    }

    func run() async {
        // The services of a gateway run on an event loop, but reading the intake takes long, as a bulk call does.
        await withTaskExecutorPreference(globalConcurrentExecutor) {
            await withDiscardingTaskGroup { group in
                for caller in callers { group.addTask { await serve(caller) } }
            }
        }
    }

    private func serve(_ caller: Caller) async {
        let intake = parts.store.intake()
        let app = caller.app.key
        // Begin at 0, because `increase` sees no increase in the first value of a series.
        for isAccepted in [true, false] { parts.metrics.answered(app, entries: 0, isAccepted: isAccepted) }
        await withTaskCancellationOrGracefulShutdownHandler {
            var backlog = IntakeBacklog()
            while !Task.isCancelled, !Task.isShuttingDownGracefully {
                do throws(StoreError) {
                    // The lease counts from before it was asked for.
                    let asked = ContinuousClock.now
                    guard try await intake.hold(app, owner: owner) else {
                        await sleep()
                        continue
                    }
                    backlog.turn(.now)
                    if backlog.isFull {
                        await sleep()
                        continue
                    }
                    let entries = try await intake.read(app, after: backlog.position, atMost: backlog.rest(.now))
                    for entry in entries where !backlog.isFull {
                        guard asked.duration(to: .now) < Intake.lease / 2, !Task.isShuttingDownGracefully else { break }
                        try await publish(entry, caller, intake, &backlog)
                    }
                } catch {
                    logger.warning("the intake waits for Redis: \(error)", metadata: ["app": "\(app)"])
                    await sleep()
                }
            }
        } onCancelOrGracefulShutdown: {
            Task { await intake.interrupt() }
        }
        intake.close()
    }

    private func sleep() async { try? await cancelWhenGracefulShutdown { try await Task.sleep(for: Self.pause) } }

    /// Publishes an entry and writes the answer, unless the entry waits. An entry without an answer is read again.
    private func publish(
        _ entry: IntakeEntry, _ caller: Caller, _ intake: Intake, _ backlog: inout IntakeBacklog
    ) async throws(StoreError) {
        let app = caller.app.key
        if !backlog.isEmpty {
            let names = names(of: entry, caller)
            if backlog.blocks(names) { return backlog.wait(entry.id, names) }
        }
        let operation = UUIDBytes.random().description
        let end = ContinuousClock.now + IntakeBacklog.patience
        while true {
            let (answer, failure) = await answer(entry, caller, operation)
            switch failure?.status {
            case nil: if !backlog.isEmpty { backlog.accepted(names(of: entry, caller)) }
            case 503: return backlog.wait(entry.id, names(of: entry, caller))
            case 500,
                429 where failure?.isOfName == true:
                let names = names(of: entry, caller)
                if backlog.refused(names, .now) { return backlog.wait(entry.id, names) }
            case 429 where ContinuousClock.now < end:
                // The queue of the whole app is full.
                await sleep()
                if Task.isCancelled || Task.isShuttingDownGracefully { return }
                // Without the lease another gateway may be at a later entry already.
                guard try await intake.hold(app, owner: owner) else { return }
                continue
            default: break
            }
            if failure != nil {
                logger.warning(
                    "an entry of the intake is rejected",
                    metadata: ["app": "\(app)", "entry": "\(entry.id)", "operation": "\(operation)"])
            }
            let text = String(decoding: answer.body, as: UTF8.self)
            try await intake.answer(
                app, entry, isAccepted: failure == nil, ["status": "\(answer.status)", "answer": text])
            parts.metrics.answered(app, entries: 1, isAccepted: failure == nil)
            return backlog.passed(entry.id)
        }
    }

    /// The names to which an entry publishes. None if its body is wrong.
    private func names(of entry: IntakeEntry, _ caller: Caller) -> Set<ActivityName> {
        guard let call = try? call(entry, caller, ""), let pushes = try? call.pushes() else { return [] }
        return Set(pushes.map(\.publish.name))
    }

    private func answer(
        _ entry: IntakeEntry, _ caller: Caller, _ operation: String
    ) async -> (answer: Answer, failure: APIError?) {
        do {
            let call = try call(entry, caller, operation)
            let answer = try await PublishCalls(parts).publish(call)
            await recorder.note(.publish, answer.action(.publish, call.caller, operation, [:]), of: caller.app.key)
            return (answer, nil)
        } catch {
            let failure = APIError(thrown: error)
            return (Answer(failure, operation: operation), failure)
        }
    }

    /// The request that the entry stands for. Its key is the entry's id, so that repeating it commits nothing twice.
    private func call(_ entry: IntakeEntry, _ caller: Caller, _ operation: String) throws -> Call {
        let key = try Self.field("key", of: entry).map { String(decoding: $0, as: UTF8.self) } ?? "intake/\(entry.id)"
        // Debezium Server calls the body so, and lets nobody choose the name.
        let body = try Self.field("push", of: entry) ?? Self.field("value", of: entry)
        let configuration = parts.configuration
        // A reload may have changed the app's defaults.
        let app = configuration.apps.first { $0.key == caller.app.key } ?? caller.app
        guard let body else {
            throw APIError.parameter("push", "is required: the body of POST /api/push; \(Self.names(in: entry))")
        }
        let limit = configuration.maximumBodyBytes
        guard body.count <= limit else { throw APIError.bodyTooLarge(limit: limit) }
        var headers = HTTPFields()
        headers[.idempotencyKey] = key
        return Call(
            operation: operation, parameters: [:], query: [:], headers: headers, origin: "", app: app,
            tokens: caller.tokens, credential: .master, caller: Self.publisher, body: IncomingBody(whole: body),
            now: clock())
    }

    /// A field that the intake reads. Others are a bridge's own, such as the topic and offset of Kafka, and are
    /// ignored.
    private static func field(_ name: String, of entry: IntakeEntry) throws -> [UInt8]? {
        let found = entry.fields.filter { $0.name == name }
        // To take one of two keys could publish twice.
        guard found.count < 2 else { throw APIError.parameter(name, "is in the entry twice") }
        return found.first?.value
    }

    /// Tells the writer of an entry without a body which fields it has. The answer is kept, and anybody who writes to
    /// Redis chooses their number and length.
    private static func names(in entry: IntakeEntry) -> String {
        let names = entry.fields.prefix(8).map { field in
            field.name.utf8.count > 40 ? String(decoding: field.name.utf8.prefix(40), as: UTF8.self) + "…" : field.name
        }
        return "the entry has " + names.joined(separator: ", ") + (entry.fields.count > 8 ? ", …" : "")
    }
}
