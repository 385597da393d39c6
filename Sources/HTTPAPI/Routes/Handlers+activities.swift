import LiveActivity
import Store
import StrictJSON

extension Handlers {
    /// How many names one page of `GET /api/activities` holds.
    static let defaultPage = 100
    static let maximumPage = 1_000

    func listActivities(_ call: Call) async throws(APIError) -> Answer {
        let limit = try call.limit()
        let names = try await storing { () throws(StoreError) in
            try await store.registry.names(
                call.app.key, prefix: call.query["prefix"] ?? "", after: call.query["after"], limit: limit)
        }
        var body: JSON = ["ok": true, "activities": .array(names.map { ["name": .string($0.rawValue)] })]
        // A full page may be the last one. The next page is empty then.
        if names.count == limit, let last = names.last { body.append("next", .string(last.rawValue)) }
        return Answer(200, body)
    }

    func activity(_ call: Call) async throws(APIError) -> Answer {
        let name = try call.name()
        let info = try await storing { () throws(StoreError) in try await store.registry.info(call.app.key, name) }
        let broadcast = try await broadcastChannel(call, name)
        guard info != nil || broadcast != nil else {
            throw APIError(404, "Nothing follows this name, and nothing was published to it.", code: 40401)
        }
        var body: JSON = [
            "name": .string(name.rawValue), "tokens": .integer(info?.tokens ?? 0),
            "shards": .integer(info?.buckets ?? 0),
            "last_push_id": info?.lastPushID.map { .string($0.description) } ?? .null,
            "ended": .bool(info?.ended ?? false), "broadcast": broadcast?.json ?? .null,
        ]
        if let due = info?.automaticEndAt { body.append("automatic_end_at", .string(TimeText.text(due))) }
        if let type = info?.attributesType { body.append("attributes_type", .string(type)) }
        return Answer(200, body)
    }

    func track(_ call: Call) async throws(APIError) -> Answer {
        let name = try call.name()
        let channel = try call.channel()
        let bytes = call.body.collect()
        let registration = try reading { () throws(JSONError) in
            try TrackBody.single(bytes, channel: channel, now: call.now, catchesUp: call.app.catchesUp)
        }
        return try await register(registration, in: name, call)
    }

    func untrack(_ call: Call) async throws(APIError) -> Answer { try await unregister(from: call.name(), call) }

    func bulkTrack(_ call: Call) async throws(APIError) -> Answer { try await bulkTrack(call, place: call.name()) }

    // MARK: Of an activity, and of start tokens

    /// Stores one registration.
    /// - Parameter registration: the channel and its token.
    /// - Parameter place: an activity's name, or the place where start tokens are registered.
    func register(
        _ registration: Registration, in place: ActivityName, _ call: Call
    ) async throws(APIError) -> Answer {
        let results = try await storing { () throws(StoreError) in
            try await store.registry.track(call.app.key, place, [registration], endAfter: call.app.endAfter)
        }
        let isStored = results.first == .stored
        metrics.registered(call.app.key, outcome: isStored ? place.storedOutcome : "stale")
        return Answer(200, ["ok": true, "result": .string(isStored ? "stored" : "stale")])
    }

    func unregister(from place: ActivityName, _ call: Call) async throws(APIError) -> Answer {
        let removal = Removal(channel: try call.channel(), removedAt: call.now)
        try await storing { () throws(StoreError) in
            try await store.registry.untrack(call.app.key, place, [removal])
        }
        metrics.registered(
            call.app.key, outcome: place.startTokensType == nil ? "removed" : "start_token_removed")
        return .empty
    }

    /// Reads lines as they arrive and applies them batch by batch, so memory holds one batch whatever the length.
    ///
    /// Applying a line twice does no harm, so after a failure the caller may send the whole body once more.
    /// - Parameter place: an activity's name, or the place where start tokens are registered.
    func bulkTrack(_ call: Call, place: ActivityName) async throws(APIError) -> Answer {
        var bulk = BulkTrack(name: place, app: call.app, now: call.now)
        do throws(APIError) {
            try await call.body.stream { part throws(APIError) in
                for line in bulk.lines.read(part) {
                    bulk.take(line)
                    if bulk.isFull { try await flush(&bulk) }
                }
            }
            if let line = bulk.lines.finish() { bulk.take(line) }
            try await flush(&bulk)
        } catch {
            var failure = error
            failure.extra = bulk.counts + [JSON.Member("lines_applied", .integer(bulk.appliedLines))]
            throw failure
        }
        return Answer(200, .object([JSON.Member("ok", true)] + bulk.counts))
    }

    private func flush(_ bulk: inout BulkTrack) async throws(APIError) {
        let batch = bulk.batch
        let (app, name) = (bulk.app, bulk.name)
        guard !batch.isEmpty else { return bulk.applied([]) }
        let endAfter = bulk.endAfter
        let results = try await storing { () throws(StoreError) in
            try await store.registry.track(app, name, batch, endAfter: endAfter)
        }
        let stored = results.count { $0 == .stored }
        metrics.registered(app, outcome: name.storedOutcome, count: stored)
        metrics.registered(app, outcome: "stale", count: results.count - stored)
        bulk.applied(results)
    }
}

extension ActivityName {
    /// The label that metrics use for a registration that was stored here.
    fileprivate var storedOutcome: String { startTokensType == nil ? "stored" : "start_token" }
}

/// The progress of one bulk call.
struct BulkTrack {
    /// The longest line: a token of 512 bytes is 1,024 digits, a channel has up
    /// to 128 bytes. The rest is room for escapes.
    static let maximumLineBytes = 8 << 10
    static let batchSize = 1_000
    /// The most rejections that the response lists. All of them are counted.
    static let maximumListed = 1_000

    let name: ActivityName
    let app: AppKey
    let catchesUp: Bool
    let endAfter: Duration?
    let now: Int64
    var lines = LineReader(maximumBytes: BulkTrack.maximumLineBytes)
    private(set) var batch: [Registration] = []
    private(set) var appliedLines = 0
    private var line = 0
    private var accepted = 0
    private var stale = 0
    private var rejected: [JSON] = []
    private var rejectedCount = 0

    init(name: ActivityName, app: GatewayApp, now: Int64) {
        self.name = name
        self.app = app.key
        catchesUp = app.catchesUp
        endAfter = app.endAfter
        self.now = now
    }

    var isFull: Bool { batch.count >= Self.batchSize }

    /// Reads one line. Lines are counted from 1, and empty lines are skipped.
    mutating func take(_ text: LineReader.Line) {
        line += 1
        switch text {
        case .tooLong: reject("is longer than \(Self.maximumLineBytes) bytes")
        case .text(let bytes):
            if bytes.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { return }
            do throws(JSONError) {
                let isStart = name.startTokensType != nil
                batch.append(try TrackBody.line(bytes, isStart: isStart, now: now, catchesUp: catchesUp && !isStart))
            } catch {
                reject(error.path.isEmpty ? error.message : "\(error.path): \(error.message)")
            }
        }
    }

    mutating func applied(_ results: [RegistrationResult]) {
        accepted += results.count
        stale += results.count { $0 == .stale }
        appliedLines = line
        batch.removeAll(keepingCapacity: true)
    }

    private mutating func reject(_ problem: String) {
        rejectedCount += 1
        if rejected.count < Self.maximumListed { rejected.append(["line": .integer(line), "error": .string(problem)]) }
    }

    /// `accepted` counts the lines that were applied. `stale` of them changed
    /// nothing, because the stored registration is newer.
    var counts: [JSON.Member] {
        [
            JSON.Member("accepted", .integer(accepted)), JSON.Member("stale", .integer(stale)),
            JSON.Member("rejected", .array(rejected)), JSON.Member("rejected_count", .integer(rejectedCount)),
        ]
    }
}
