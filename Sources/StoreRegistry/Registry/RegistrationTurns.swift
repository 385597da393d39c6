public import LiveActivity
public import StoreGround
import Synchronization

/// Gathers registrations of one name that come at once from many requests, as a crowd does at kick-off.
///
/// The first one goes out alone and at once. Registrations that come while it waits for Redis share the next call. So a
/// crowd costs a few calls instead of one each, and nobody waits for a timer.
final class RegistrationTurns: Sendable {
    typealias Outcome = Result<RegistrationResult, StoreError>
    struct Waiting {
        /// With the limits that were in force when it came.
        let registry: Registry
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
    private func next(_ key: RegistryMemory.Key) -> [Waiting] {
        waiting.withLock { waiting in
            let all = waiting[key] ?? []
            let group = all.prefix(Buckets.batch)
            waiting[key] = group.isEmpty ? nil : Array(all.dropFirst(group.count))
            return Array(group)
        }
    }

    /// The next turn, after a turn that ended so. If Redis failed, waiting requests fail too, instead of each in its
    /// turn.
    /// - Returns: nil if no turn of the name is under way any more.
    func next(_ key: RegistryMemory.Key, after outcome: Outcome) -> [Waiting]? {
        if case .failure(let error) = outcome, !error.isOfQuota {
            let all = waiting.withLock { $0.removeValue(forKey: key) ?? [] }
            for waiting in all { waiting.continuation.resume(returning: .failure(error)) }
            return nil
        }
        let group = next(key)
        return group.isEmpty ? nil : group
    }
}

extension Registry {
    /// Stores the registration of one request. Requests of one name that come at once share a call; each gets its
    /// result.
    /// - Parameter endAfter: the age at which cards are to be ended automatically.
    public func track(
        _ app: AppKey, _ tokens: TokenPlace, _ registration: Registration, endAfter: Duration? = nil
    ) async throws(StoreError) -> RegistrationResult {
        let key = RegistryMemory.Key(app: app, tokens: tokens)
        while true {
            if turns.begins(key) {
                let outcome: RegistrationTurns.Outcome
                do throws(StoreError) {
                    outcome = .success(try await track(app, tokens, [registration], endAfter: endAfter)[0])
                } catch {
                    outcome = .failure(error)
                }
                if let next = turns.next(key, after: outcome) { Task { await Self.takeTurns(turns, key, next) } }
                return try outcome.get()
            }
            let outcome = await withCheckedContinuation { continuation in
                let waiting = RegistrationTurns.Waiting(
                    registry: self, registration: registration, endAfter: endAfter, continuation: continuation)
                turns.add(waiting, to: key)
            }
            if let outcome {
                // The turn of another task sent it.
                CallChanges.note()
                return try outcome.get()
            }
        }
    }

    /// Takes one turn after the other until no registration of the name waits.
    private static func takeTurns(
        _ turns: RegistrationTurns, _ key: RegistryMemory.Key, _ first: [RegistrationTurns.Waiting]
    ) async {
        var group = first
        while let last = group.last {
            // After a reload the last one has the newest limits.
            let outcomes = await last.registry.outcomes(key, group)
            for (waiting, outcome) in zip(group, outcomes) { waiting.continuation.resume(returning: outcome) }
            guard let outcome = outcomes.last, let next = turns.next(key, after: outcome) else { return }
            group = next
        }
    }

    private func outcomes(
        _ key: RegistryMemory.Key, _ group: [RegistrationTurns.Waiting]
    ) async -> [RegistrationTurns.Outcome] {
        do throws(StoreError) {
            // Too early an end is put off by the worker that looks at the name.
            let results = try await track(
                key.app, key.tokens, group.map(\.registration), endAfter: group.compactMap(\.endAfter).min())
            return results.map { .success($0) }
        } catch {
            guard group.count > 1, error.isOfQuota else { return group.map { _ in .failure(error) } }
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

extension StoreError {
    fileprivate var isOfQuota: Bool { if case .quotaReached = self { true } else { false } }
}
