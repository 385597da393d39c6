import APNsWire
import LiveActivity
import Logging
import Store
import Threads

/// Creates and deletes broadcast channels at APNs as names want them. Every worker tries this by the clock, but only
/// the worker with the app's lease may do it. If that worker is killed, the next holder of the lease finishes or undoes
/// its work. A channel that was made and noted goes to its name. A channel that only APNs's list shows is deleted.
struct BroadcastChannelKeeper: Sendable {
    let store: Store
    let apps: [AppKey: WorkerApp]
    let owner: String
    let logger: Logger
    /// Milliseconds that tests add to Redis's time.
    var ahead: Int64 = 0
    /// The most names of one turn.
    static let mostNames = 64

    /// Epoch milliseconds.
    func clock() -> Int64 { store.time.now() + ahead }

    /// Does the work of an app's names that are due. An error of Redis ends the turn, and the other names stay due.
    func tick(_ key: AppKey) async {
        guard let app = apps[key] else { return }
        do throws(StoreError) {
            let (names, dropped) = try await store.broadcasts.due(key, now: clock(), limit: Self.mostNames)
            if dropped > 0 {
                logger.error(
                    "dropped names in an unknown format from the timer of broadcast channels",
                    metadata: ["app": "\(key)", "names": "\(dropped)"])
            }
            if names.isEmpty { return }
            guard let channels = app.broadcasts else { return try await decline(key, names) }
            guard let lease = try await store.broadcasts.claim(key, owner: owner, for: ChannelRound.life) else {
                return
            }
            if try await ChannelRound(keeper: self, app: key, channels: channels, lease: lease).work(names) {
                try await store.broadcasts.giveBack(lease)
            }
        } catch { logger.debug("cannot look for broadcast channels that are due: \(error)") }
    }

    /// Postpones the names for a worker that may have a server for broadcast channels, because this one has none.
    private func decline(_ app: AppKey, _ names: [ActivityName]) async throws(StoreError) {
        for name in names {
            _ = try await store.broadcasts.failed(app, name, "this worker has no server for broadcast channels")
            try await store.broadcasts.postpone(app, name, until: clock() + 5_000)
        }
    }
}

/// The work of the worker that holds an app's lease.
struct ChannelRound: Sendable {
    /// The life of the lease. It is longer than the two requests between two renewals can take.
    static let life: Duration = .seconds(60)
    private static let backoff = Backoff(first: .seconds(1), cap: .seconds(60))
    /// The pause after a refusal that only an operator can end, such as FeatureNotEnabled.
    private static let pauseAfterRefusal: Duration = .seconds(300)

    private enum Outcome: Sendable {
        case done
        /// Look again at this time, epoch milliseconds.
        case later(Int64)
        case failed(BroadcastChannelError)
        /// APNs may have made a channel whose id is not known.
        case unknown(BroadcastChannelError)
        /// Another worker has the lease of the app's broadcast channels.
        case lost
    }

    let keeper: BroadcastChannelKeeper
    let app: AppKey
    let channels: BroadcastService
    let lease: BroadcastLease

    private var store: Broadcasts { keeper.store.broadcasts }
    private var logger: Logger { keeper.logger }
    private var metadata: Logger.Metadata { ["app": "\(app)"] }
    private func metadata(_ name: ActivityName) -> Logger.Metadata { ["app": "\(app)", "name": "\(name)"] }
    private func clock() -> Int64 { keeper.clock() }

    /// Does the work of the app's names that are due.
    /// - Returns: false if another worker has the lease now
    func work(_ names: [ActivityName]) async throws(StoreError) -> Bool {
        if let unfinished = lease.unfinished, let error = try await finish(unfinished) {
            logger.warning("cannot finish the creation of a broadcast channel yet: \(error)", metadata: metadata)
            // Postpone all names of the app: the intent of the next creation would overwrite the unfinished one.
            for name in names { try await store.postpone(app, name, until: clock() + 5_000) }
            return true
        }
        var channelCount: Int?
        for name in names {
            guard try await store.renew(lease, for: Self.life) else { return false }
            let until = clock() + Self.life.milliseconds
            try await store.postpone(app, name, until: until)
            let outcome: Outcome
            do throws(StoreError) { outcome = try await work(name, &channelCount) } catch {
                if error.isPassing { throw error }
                // Postpone this name, because a record that cannot be read must not delay the names after it.
                logger.error("cannot work on a name's broadcast channel: \(error)", metadata: metadata)
                try await store.postpone(app, name, until: clock() + Self.pauseAfterRefusal.milliseconds)
                continue
            }
            switch outcome {
            case .done: try await store.done(app, name, postponedUntil: until)
            case .later(let at): try await store.postpone(app, name, until: at)
            case .failed(let error): try await note(error, name)
            case .unknown(let error):
                try await note(error, name)
                return true
            case .lost: return false
            }
        }
        return true
    }

    private func note(_ error: BroadcastChannelError, _ name: ActivityName) async throws(StoreError) {
        let attempts = try await store.failed(app, name, error.description)
        logger.warning("\(error)", metadata: metadata(name))
        if !error.isRetriable { try await keeper.store.alarms.raise(app, .broadcast, "\(error)") }
        let pause = Self.backoff.pause(after: attempts) * Double.random(in: 0.5..<1)
        let delay = error.isRetriable ? pause : Self.pauseAfterRefusal
        try await store.postpone(app, name, until: clock() + delay.milliseconds)
    }

    /// Makes or deletes a name's broadcast channel, if the name wants that.
    /// - Parameter channelCount: how many broadcast channels the app has at APNs; nil until this turn has listed them
    private func work(_ name: ActivityName, _ channelCount: inout Int?) async throws(StoreError) -> Outcome {
        guard let channel = try await store.channel(app, name) else { return .done }
        switch channel.state {
        case .wanted: return try await create(name, channel.storage, &channelCount)
        case .deleting: return try await delete(name, channel.id)
        case .live:
            guard let deleteAt = channel.deleteAt else { return .done }
            switch try await store.discardEnded(app, name, now: clock()) {
            case .none: return .done
            case .stays: return deleteAt > clock() ? .later(deleteAt) : .done
            case .deleting: return try await delete(name, channel.id)
            }
        }
    }

    private func create(
        _ name: ActivityName, _ storage: BroadcastStorage, _ channelCount: inout Int?
    ) async throws(StoreError) -> Outcome {
        if channelCount == nil {
            let all: [BroadcastChannelID]
            do throws(BroadcastChannelError) { all = try await channels.list() } catch { return .failed(error) }
            guard try await store.noteForeign(lease, try await notOurs(all)) else { return .lost }
            channelCount = all.count
        }
        guard channelCount ?? 0 < BroadcastChannelRequest.maximumChannels else { return .failed(.full(storage)) }
        guard try await store.intend(lease, name, for: Self.life) else { return .lost }
        let id: BroadcastChannelID
        do throws(BroadcastChannelError) { id = try await channels.create(storage) } catch {
            if error.mayHaveHappened { return .unknown(error) }
            guard try await store.forget(lease, for: Self.life) else { return .lost }
            return .failed(error)
        }
        channelCount? += 1
        guard try await store.made(lease, name, id, for: Self.life) else {
            // Delete the channel, because the worker that has the lease now does not know its id.
            try? await channels.delete(id)
            return .lost
        }
        if let error = try await give(id, to: name) { return .failed(error) }
        return try await store.forget(lease, for: Self.life) ? .done : .lost
    }

    /// The broadcast channels at APNs that no name owns.
    private func notOurs(_ all: [BroadcastChannelID]) async throws(StoreError) -> [BroadcastChannelID] {
        let own = Set(try await store.list(app).map(\.id))
        return all.filter { !own.contains($0) }
    }

    /// Gives a new broadcast channel to its name, or deletes the channel if the name no longer wants it.
    /// - Returns: the error if that deletion failed
    private func give(
        _ id: BroadcastChannelID, to name: ActivityName
    ) async throws(StoreError) -> BroadcastChannelError? {
        guard try await store.live(app, name, id, now: clock()) else { return try await remove(id) }
        logger.info("broadcast channel made", metadata: metadata(name))
        try await keeper.store.alarms.clear(app, .broadcast)
        // Wake a worker, because the name's broadcast queue waits for this channel.
        try await keeper.store.queue.add([.broadcast(app, name, .high)])
        return nil
    }

    private func delete(_ name: ActivityName, _ id: BroadcastChannelID?) async throws(StoreError) -> Outcome {
        guard let id else { return .done }
        if let error = await deleteAtAPNs(id) { return .failed(error) }
        _ = try await store.gone(app, name, id, now: clock())
        logger.info("broadcast channel deleted", metadata: metadata(name))
        return .done
    }

    /// Deletes a broadcast channel that no name owns.
    private func remove(_ id: BroadcastChannelID) async throws(StoreError) -> BroadcastChannelError? {
        if let error = await deleteAtAPNs(id) { return error }
        try await store.removeFromIndex(app, id)
        return nil
    }

    private func deleteAtAPNs(_ id: BroadcastChannelID) async -> BroadcastChannelError? {
        do throws(BroadcastChannelError) { try await channels.delete(id) } catch {
            return error.reason == .channelNotRegistered ? nil : error
        }
        return nil
    }

    /// Finishes or undoes the creation during which the previous holder of the lease died.
    /// - Returns: an error if APNs did not answer or refused; the intent stays then
    private func finish(_ unfinished: BroadcastLease.Creation) async throws(StoreError) -> BroadcastChannelError? {
        if let id = unfinished.id {
            if let error = try await give(id, to: unfinished.name) { return error }
        } else {
            let all: [BroadcastChannelID]
            do throws(BroadcastChannelError) { all = try await channels.list() } catch { return error }
            let unowned = try await notOurs(all)
            let foreign = try await store.foreign(app)
            let orphans = unowned.filter { !foreign.contains($0) }
            // Several orphans mean that another system makes channels for this app too. They are not ours to delete.
            if orphans.count == 1 {
                if let error = try await remove(orphans[0]) { return error }
                logger.notice("an orphaned broadcast channel was deleted", metadata: metadata)
            } else if orphans.count > 1 {
                logger.warning(
                    "a broadcast channel may have been orphaned; others make channels for this app too",
                    metadata: metadata.merging(["unknown_channels": "\(orphans.count)"]) { $1 })
            }
        }
        _ = try await store.forget(lease, for: Self.life)
        return nil
    }
}
