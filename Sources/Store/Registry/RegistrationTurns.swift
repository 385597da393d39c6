public import LiveActivity
import Synchronization

/// Gathers registrations of one name that come at once from many requests, as a crowd does at kick-off.
///
/// The first one goes out alone and at once. Those that come while it waits for Redis share the next call. So a crowd
/// costs a few calls instead of one each, and nobody waits for a timer.
final class RegistrationTurns: Sendable {
    typealias Outcome = Result<RegistrationResult, StoreError>
    struct Waiting {
        let registration: Registration
        let endAfter: Duration?
        /// Gets nil if no turn of the name is under way any more.
        let continuation: CheckedContinuation<Outcome?, Never>
    }

    /// A name is here while one of its turns is under way.
    let waiting = Mutex<[RegistryMemory.Key: [Waiting]]>([:])

    /// Begins a turn, unless one of the name is under way.
    func begins(_ key: RegistryMemory.Key) -> Bool {
        waiting.withLock { waiting in
            guard waiting[key] == nil else { return false }
            waiting[key] = []
            return true
        }
    }

    func add(_ next: Waiting, to key: RegistryMemory.Key) {
        let isUnderWay = waiting.withLock { $0[key]?.append(next) != nil }
        if !isUnderWay { next.continuation.resume(returning: nil) }
    }

    /// The registrations of the next turn. None: no turn of the name is under way any more.
    func next(_ key: RegistryMemory.Key) -> [Waiting] {
        waiting.withLock { waiting in
            let all = waiting[key] ?? []
            let group = all.prefix(BucketChange.batch)
            waiting[key] = group.isEmpty ? nil : Array(all.dropFirst(group.count))
            return Array(group)
        }
    }
}

extension Registry {
    /// Stores the registration of one request. Those of one name that come at once share a call; each gets its result.
    /// - Parameter endAfter: the age at which cards are to be ended automatically.
    public func track(
        _ app: AppKey, _ tokens: TokenPlace, _ registration: Registration, endAfter: Duration? = nil
    ) async throws(StoreError) -> RegistrationResult {
        let key = RegistryMemory.Key(app: app, tokens: tokens)
        while true {
            if turns.begins(key) {
                defer {
                    let group = turns.next(key)
                    if !group.isEmpty { Task { await takeTurns(key, group) } }
                }
                return try await track(app, tokens, [registration], endAfter: endAfter)[0]
            }
            let outcome = await withCheckedContinuation { continuation in
                turns.add(.init(registration: registration, endAfter: endAfter, continuation: continuation), to: key)
            }
            if let outcome { return try outcome.get() }
        }
    }

    /// Takes one turn after the other until no registration of the name waits.
    private func takeTurns(_ key: RegistryMemory.Key, _ first: [RegistrationTurns.Waiting]) async {
        var group = first
        while !group.isEmpty {
            for (waiting, outcome) in zip(group, await outcomes(key, group)) {
                waiting.continuation.resume(returning: outcome)
            }
            group = turns.next(key)
        }
    }

    private func outcomes(
        _ key: RegistryMemory.Key, _ group: [RegistrationTurns.Waiting]
    ) async -> [RegistrationTurns.Outcome] {
        do throws(StoreError) {
            // After a reload the last one has the newest setting.
            let results = try await track(
                key.app, key.tokens, group.map(\.registration), endAfter: group.last?.endAfter)
            return results.map { .success($0) }
        } catch {
            guard group.count > 1, case .quotaReached = error else { return group.map { _ in .failure(error) } }
        }
        // There is no room for a newcomer. Others may follow already, so each one is asked for alone.
        return await withTaskGroup { tasks in
            for (index, waiting) in group.enumerated() {
                tasks.addTask { (index, await outcomes(key, [waiting])[0]) }
            }
            var each = [RegistrationTurns.Outcome](repeating: .success(.stale), count: group.count)
            for await (index, outcome) in tasks { each[index] = outcome }
            return each
        }
    }
}
