import APNsWire
import LiveActivity
import Logging
import Store

/// Ends cards that are old enough, in the apps that have an automatic end.
struct EndTimer: Sendable {
    /// How many names are processed at once. Each has one page of tokens in memory.
    private static let batch = 8

    let store: Store
    let rules: [AppKey: EndRule?]
    let drain: Drain
    let logger: Logger

    init(store: Store, apps: [WorkerApp], drain: Drain, logger: Logger) {
        self.store = store
        rules = Dictionary(uniqueKeysWithValues: apps.map { ($0.key, $0.endAfter.map(EndRule.init)) })
        self.drain = drain
        self.logger = logger
    }

    var apps: [AppKey] { rules.compactMap { $1 == nil ? nil : $0 } }

    /// Puts names that were followed before the setting into the timer of automatic ends.
    /// - Returns: true when this is done for all apps; false when Redis did not answer
    func begin() async -> Bool {
        for (app, rule) in rules {
            do throws(StoreError) {
                let names = try await store.automaticEnds.adopt(app, rule)
                if names > 0 {
                    logger.notice(
                        "scheduled automatic ends for names with followers",
                        metadata: ["app": "\(app)", "names": "\(names)"])
                }
            } catch {
                logger.debug("cannot look for automatic ends: \(error)")
                return false
            }
        }
        return true
    }

    /// Processes the names that are due. After an error of Redis, a worker takes the unfinished names over a minute
    /// later.
    func run() async {
        for (app, rule) in rules {
            guard let rule else { continue }
            var taken = Self.batch
            while taken == Self.batch, !drain.isOn {
                taken = await run(app, rule)
            }
        }
    }

    private func run(_ app: AppKey, _ rule: EndRule) async -> Int {
        let tasks: [EndTask]
        do throws(StoreError) {
            tasks = try await store.automaticEnds.take(app, rule, limit: Self.batch)
        } catch {
            logger.debug("cannot look for automatic ends: \(error)")
            return 0
        }
        await withDiscardingTaskGroup { group in
            for task in tasks { group.addTask { await end(task, rule) } }
        }
        return tasks.count
    }

    private func end(_ task: EndTask, _ rule: EndRule) async {
        let payload = Payload(task.publish, timestamp: Payload.timestampRange.lowerBound)
        do throws(StoreError) {
            report(
                try await store.automaticEnds.run(
                    task, rule, payload: payload.bytes, timestampOffset: Payload.timestampOffset), task)
        } catch {
            logger.warning(
                "an automatic end is postponed: \(error)", metadata: ["app": "\(task.app)", "name": "\(task.name)"])
        }
    }

    private func report(_ outcome: EndOutcome, _ task: EndTask) {
        let metadata: Logger.Metadata = [
            "app": "\(task.app)", "name": "\(task.name)", "push": "\(outcome.push)", "automatic": "true",
            "cards": "\(outcome.cards)",
        ]
        switch outcome.verdict {
        case .nothing: break
        case .ended: logger.info("an automatic end was committed", metadata: metadata)
        case .postponed(let refusal): logger.info("an automatic end is tried again: \(refusal)", metadata: metadata)
        }
    }
}
