import Answers
public import Console
import LiveActivity
public import Store
import StrictJSON
import Threads

/// The parts of the console that no call of the API is about: the state of an app with its queues and workers, and the
/// console's own records. A session sees and changes of them what its credential may.
extension ConsoleBridge {
    /// One look at Redis for the strip, Home and Alarms.
    func state(_ identity: ConsoleIdentity, withQueue: Bool) async -> AppState {
        let store = live.current.parts.store
        let (app, isForAllNames) = (identity.app, identity.namePrefix == nil)
        var parts: [Snapshot.Part] = [.pauses, .alarms, .workers]
        if isForAllNames { parts += [.deadLetters, .quarantine] + (withQueue ? [.depths] : []) }
        let found = await store.partialSnapshot([app], parts)
        var state = AppState()
        guard let counts = found.apps.first, !found.parts.isEmpty else { return state }
        func read<Value>(_ part: Snapshot.Part, _ value: Value) -> Value? { found.parts.contains(part) ? value : nil }
        let pauses = found.pauses.filter { $0.name?.begins(with: identity.namePrefix) ?? true }
        state.pauses = read(.pauses, pauses.map(\.answer))
        state.workers = read(.workers, found.workers.map { AppState.Worker($0) })
        state.deadLetters = read(.deadLetters, counts.deadLetters)
        state.quarantinedNames = read(.quarantine, counts.quarantinedNames)
        state.queue = read(.depths, AppState.Queue(counts.depth))
        state.answered = found.answered
        for count in WaitingCount.ofFeatures.joined() {
            state.waiting[count.place] = try? await count.read(store, identity, found.now)
        }
        let notes = found.alarms.isEmpty ? [:] : (try? await store.console.acknowledged(app)) ?? [:]
        state.alarms = found.alarms.map { alarm in
            AppState.Alarm(
                alarm, reason: isForAllNames ? alarm.reason : nil, notes[alarm.word].flatMap { AlarmNote($0) })
        }
        return state
    }

    /// As a call with the scope operate, of a credential for all names.
    func acknowledge(
        _ identity: ConsoleIdentity, _ alarm: AppState.Alarm, isKnown: Bool, _ now: Int64
    ) async throws {
        if let grant = identity.grant {
            guard grant.scopes.contains(.operate) else { throw APIError.missingScope(grant, .operate) }
            if grant.namePrefix != nil { throw APIError.otherNames(grant) }
        }
        let note = AlarmNote(
            known: AppState.Known(
                credential: identity.credentialID ?? Credential.master.id, who: identity.person?.name,
                whoID: identity.person?.subject, at: now), since: alarm.since)
        try await live.current.parts.store.console.acknowledge(
            identity.app, alarm.word, isKnown ? note.record : nil)
    }

    /// Nil: the error is neither a refusal nor of Redis.
    static func problem(_ error: any Error) -> (status: Int, message: String)? {
        switch error {
        case let error as APIError: (error.status, error.message)
        case is StoreError: (503, "Redis does not answer the gateway. Try again in a moment.")
        default: nil
        }
    }
}

extension ConsoleStore: ConsoleRecords {}

/// A count of what waits for a reader on a feature's page of the console. `ofFeatures` lists them.
struct WaitingCount: Sendable {
    /// The path of the page, with the query that shows what is counted.
    let place: String
    /// Counts at this time (epoch ms) what the reader can do something about.
    let read: @Sendable (Store, ConsoleIdentity, Int64) async throws(StoreError) -> Int
}

/// The record of an alarm that somebody knows of.
struct AlarmNote {
    var known: AppState.Known
    /// When the alarm was raised that this is about, epoch ms. The next one of the kind is not known.
    var since: Int64

    init(known: AppState.Known, since: Int64) { (self.known, self.since) = (known, since) }

    init?(_ record: [UInt8]) {
        guard let body = try? JSONDocument(record).root.object(), let credential = body.text("credential"),
            let at = try? body["at"]?.integer(), let since = try? body["since"]?.integer()
        else { return nil }
        known = AppState.Known(credential: credential, who: body.text("who"), whoID: body.text("who_id"), at: at)
        self.since = since
    }

    var record: [UInt8] {
        JSON.fields([
            "credential": .string(known.credential), "who": known.who.map(JSON.string),
            "who_id": known.whoID.map(JSON.string), "at": .integer(known.at), "since": .integer(since),
        ]).bytes
    }
}

extension AppState.Alarm {
    fileprivate init(_ alarm: Alarm, reason: String?, _ note: AlarmNote?) {
        let kind = alarm.kind
        self.init(
            kind: kind.rawValue, word: alarm.word, platform: alarm.platform, title: kind.title, meaning: kind.meaning,
            ends: kind.ends, runbook: kind.runbook,
            page: kind.page.map { ($0.path, $0.title) }, since: alarm.since, reason: reason,
            known: note?.since == alarm.since ? note?.known : nil)
    }
}

extension AppState.Worker {
    fileprivate init(_ worker: WorkerSight) {
        self.init(name: worker.name, pending: worker.pending, idle: worker.idle, isAtWork: worker.isAtWork)
    }
}

extension AppState.Queue {
    fileprivate init(_ depth: QueueDepth) {
        self.init(names: depth.pushesHigh + depth.pushesLow, shards: depth.shardTasks, retriesDue: depth.retriesDue)
    }
}
