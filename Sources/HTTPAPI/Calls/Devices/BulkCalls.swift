import Answers
import LiveActivity
import Store
import StrictJSON

/// The calls whose bodies have a line for each channel, of any number.
struct BulkCalls: CallGroup {
    private let registrations: RegistrationCalls
    private let addresses: AddressBook
    private let channels: Channels
    /// Changes of channels that are applied in one call.
    private static let changes = 1_000
    /// The most bytes to come that count. A caller can announce any number.
    private static let mostAnnounced = 1 << 40

    init(_ parts: GatewayParts) {
        (registrations, addresses, channels) = (RegistrationCalls(parts), AddressBook(parts), parts.store.channels)
    }

    func track(_ call: Call) async throws -> Answer {
        let place = try call.place()
        let (now, catchesUp) = (call.now, call.app.catchesUp)
        let batchSize = registrations.batchSize(of: place)
        let app = call.app
        let lines = BulkLines(batchSize: batchSize, countsStale: true) { bytes throws(JSONError) in
            try TrackBody.read(
                bytes, channel: nil, isStart: place.isForStartTokens, now: now, catchesUp: catchesUp,
                platforms: app.platforms)
        }
        return try await bulk(call, lines) { batch, announced in
            let missing = try await Set(addresses.note(batch, app))
            let registrations = batch.indices.filter { !missing.contains($0) }.map { batch[$0].registration }
            let results = try await self.registrations.register(
                registrations, in: place, app, announced: announced)
            let problem = "token: \(TrackBody.noAddress)"
            return BulkOutcome(
                stale: results.count { $0 == .stale },
                refused: Dictionary(uniqueKeysWithValues: missing.map { ($0, problem) }))
        }
    }

    /// Tags and named users of many channels.
    func changeChannels(_ call: Call) async throws -> Answer {
        let lines = BulkLines(batchSize: Self.changes) { bytes throws(JSONError) in try ChannelBody.change(bytes) }
        return try await bulk(call, lines) { changes, _ in
            let refused = try await channels.apply(call.app.key, changes)
            let problem =
                "the channel would have more than \(channels.maximumTags) tags: remove some of them first"
            return BulkOutcome(refused: Dictionary(uniqueKeysWithValues: refused.map { ($0, problem) }))
        }
    }

    /// Reads lines as they arrive and applies them batch by batch, in their order. The next batch is read while Redis
    /// applies one, so memory holds two whatever the length.
    /// Applying a line twice does no harm, so after a failure the caller may send the whole body once more. With
    /// `dry_run` lines are only read.
    /// - Parameter apply: gets entries, and how many the body seems to have from these on
    private func bulk<Entry: Sendable>(
        _ call: Call, _ lines: BulkLines<Entry>,
        apply: @escaping @Sendable ([Entry], _ announced: Int) async throws -> BulkOutcome
    ) async throws -> Answer {
        typealias Batch = BulkLines<Entry>.Batch
        var bulk = lines
        let isDryRun = try call.flag("dry_run") ?? false
        var (bytes, hasFailed) = (0, false)
        try await withThrowingTaskGroup(of: (Batch, BulkOutcome).self) { underWay in
            func settle() async throws {
                switch await underWay.nextResult() {
                case .success(let (batch, outcome)): bulk.applied(batch, outcome)
                case .failure(let error):
                    hasFailed = true
                    throw error
                case nil: break
                }
            }
            func beginBatch() async throws {
                try await settle()
                let batch = bulk.takeBatch()
                // By the length of the body, if the lines to come are as long as these.
                let rest = min(max(0, (call.body.announced ?? 0) - bytes), Self.mostAnnounced)
                let announced = batch.entries.count + rest * batch.entries.count / max(1, bytes)
                underWay.addTask {
                    try await call.confirm()
                    return (batch, isDryRun ? BulkOutcome() : try await apply(batch.entries, announced))
                }
            }
            do {
                try await call.body.stream { part in
                    bytes += part.count
                    for line in bulk.lines.read(part) {
                        bulk.take(line)
                        if bulk.isFull { try await beginBatch() }
                    }
                }
                if let line = bulk.lines.finish() { bulk.take(line) }
                try await beginBatch()
                try await settle()
            } catch {
                // The body broke off: the lines that arrived whole count too.
                if !hasFailed { try? await beginBatch() }
                try? await settle()
                var failure = APIError(thrown: error)
                failure.extra = bulk.answer.membersOfError + CutShortAnswer(linesApplied: bulk.appliedLines).members
                failure.applied = isDryRun ? 0 : bulk.accepted
                throw failure
            }
        }
        var answer = Answer(200, bulk.answer).about([:], count: bulk.accepted)
        answer.changedNothing = isDryRun
        return answer
    }
}
