import Answers
public import LiveActivity
public import Store
import StrictJSON
import Threads

/// Writes the finished pushes of an app that Redis has and the directory lacks.
///
/// It reads the index of pushes and their records, and writes nothing to Redis.
public struct Exporter: Sendable {
    /// Pushes that are read at once.
    private static let step = 400

    let store: Store
    /// Whether lines have the payload, which may be personal.
    let withContent: Bool
    /// A file with so many pushes is complete.
    var pushesOfFile = 50_000
    /// Told after each step of a commit.
    var reached: @Sendable (ExportDirectory.Step) throws -> Void = { _ in }

    public init(_ store: Store, withContent: Bool) { (self.store, self.withContent) = (store, withContent) }

    /// Exports what has become final since the last time.
    /// - Parameter isStopping: asked after each step, so that a process can end
    public func run(
        _ app: AppKey, in directory: ExportDirectory, isStopping: @Sendable () -> Bool = { false }
    ) async throws -> ExportReport {
        let deployment = try await store.deployment()
        let stored = try directory.state(app)
        let state = stored ?? ExportState(deployment: deployment)
        guard state.deployment == deployment else { throw ExportError.otherDeployment(directory.path) }
        var round = Round(app: app, exporter: self, directory: directory, state: state)
        try await round.run(isStopping: isStopping)
        return round.report
    }

    func line(_ push: IndexedPush.Record) -> [UInt8] {
        var json = push.ledger.withPublisher.answerJSON
        json.append("audience", .raw(Array(push.audience.answer.bytes)))
        if let types = push.audience.deviceTypes { json.append("device_types", .array(types.map(JSON.string))) }
        if withContent {
            // The publisher's state is as it came. Outside of texts a line break is a space.
            json.append("payload", .raw(push.payload.map { [0x0A, 0x0D].contains($0) ? 0x20 : $0 }))
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    /// A disk may take long, so what waits for it has a thread of its own.
    private static func onThread(_ body: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            if NamedThread.start("lamp-export", { continuation.resume(with: Result { try body() }) }) { return }
            continuation.resume(throwing: ExportError.file("the export", why: "no thread could be started"))
        }
    }

    /// One run, from the state of the last commit on.
    private struct Round {
        let app: AppKey
        let exporter: Exporter
        let directory: ExportDirectory
        var state: ExportState
        var report: ExportReport
        private let isFirst: Bool
        private var file: ExportFile?
        private var place: ExportState.LastFile?
        /// The state differs from the directory's.
        private var isChanged = false

        init(app: AppKey, exporter: Exporter, directory: ExportDirectory, state: ExportState) {
            (self.app, self.exporter, self.directory, self.state) = (app, exporter, directory, state)
            report = ExportReport(app: app.rawValue)
            isFirst = state.next == nil
        }

        mutating func run(isStopping: @Sendable () -> Bool) async throws {
            let pushes = exporter.store.pushes
            let now = exporter.store.time.now()
            let keptSince = pushes.keptSince(now)
            let before = state
            let (walkable, missed) = state.begin(now: now, keptSince: keptSince)
            report.missed = missed
            isChanged = state != before
            defer { discard() }
            for hour in state.waiting.keys.sorted() where !isStopping() { try await look(again: hour) }
            for hour in walkable where !isStopping() {
                try await walk(hour, keptSince: isFirst ? 0 : keptSince, isStopping: isStopping)
            }
            if isChanged { try await commit() }
            report.waiting = state.waiting.values.map(\.count).reduce(0, +)
            report.until = (state.next ?? 0) * Pushes.hour
        }

        /// Looks again at the pushes of an hour that were not final.
        private mutating func look(again hour: Int64) async throws {
            var open: [PushID] = []
            for part in (state.waiting[hour] ?? []).parts(of: Exporter.step) {
                for push in try await exporter.store.pushes.indexed(app, Array(part)) {
                    guard let record = push.record else {
                        report.gone += 1
                        continue
                    }
                    if record.ledger.state.isFinal { try add(record, hour) } else { open.append(push.id) }
                }
            }
            guard open.count < state.waiting[hour]?.count ?? 0 else { return }
            state.waiting[hour] = open.isEmpty ? nil : open
            try await commit()
        }

        /// - Parameter keptSince: a record of an earlier push that is not there has expired
        private mutating func walk(_ hour: Int64, keptSince: Int64, isStopping: @Sendable () -> Bool) async throws {
            var known = Set(state.waiting[hour] ?? [])
            if hour < state.again { known.formUnion(try directory.pushes(app, hour: hour)) }
            repeat {
                let (pushes, next) = try await exporter.store.pushes.indexed(
                    app, hour: hour, after: state.position, limit: Exporter.step)
                for push in pushes where !known.contains(push.id) {
                    guard let record = push.record else {
                        if push.id.uuid.time < keptSince { report.gone += 1 }
                        continue
                    }
                    if record.ledger.state.isFinal {
                        try add(record, hour)
                    } else {
                        state.waiting[hour, default: []].append(push.id)
                    }
                }
                state.position = next
                isChanged = true
                if next != nil, file?.lines ?? 0 >= exporter.pushesOfFile || isStopping() { try await commit() }
                if next != nil, isStopping() { return }
            } while state.position != nil
            state.next = hour + 1
            if state.again <= hour + 1 { state.again = 0 }
            if file != nil { try await commit() }
        }

        private mutating func add(_ record: IndexedPush.Record, _ hour: Int64) throws {
            if file == nil { (file, place) = try directory.newFile(app, hour: hour, number: state.files + 1) }
            try file?.add(exporter.line(record))
        }

        private mutating func commit() async throws {
            // If the commit fails half way, the state may name the part already. So nobody removes it here.
            let file = file.take()
            if file != nil { (state.files, state.last) = (state.files + 1, place) }
            let descriptor = try file?.finish()
            try await Exporter.onThread { [directory, app, state, exporter] in
                try directory.commit(app, state, part: descriptor, reached: exporter.reached)
            }
            if let file { (report.pushes, report.files) = (report.pushes + file.lines, report.files + 1) }
            isChanged = false
        }

        /// Removes the part of a round that failed. The next one would remove it too.
        private func discard() {
            if let file { directory.remove(file) }
        }
    }
}
