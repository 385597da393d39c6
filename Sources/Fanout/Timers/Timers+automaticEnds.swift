import APNsWire
import LiveActivity
import Logging
import Store

/// Ends cards that are old enough, in the apps that have an automatic end.
extension Timers {
    /// How many names are processed at once. Each has one page of tokens in memory.
    private static let endBatch = 8

    /// The app's automatic end, if it has one.
    func endRule(_ app: AppKey) -> EndRule? { context.options.endAfter[app].map(EndRule.init) }

    /// Puts the names of all apps that were followed before the setting into the timer of automatic ends.
    func adoptEnds() async {
        var left = apps[...]
        while let app = left.first, !isEnding {
            do throws(StoreError) {
                let names = try await store.automaticEnds.adopt(app, endRule(app))
                if names > 0 {
                    logger.notice(
                        "scheduled automatic ends for names with followers",
                        metadata: ["app": "\(app)", "names": "\(names)"])
                }
                left.removeFirst()
            } catch {
                logger.debug("cannot look for automatic ends: \(error)")
                await pause(.seconds(1))
            }
        }
    }

    /// Processes the names that are due. After an error of Redis, a worker takes the unfinished names over a minute
    /// later.
    func endOldCards() async {
        for app in apps {
            guard let rule = endRule(app) else { continue }
            var taken = Self.endBatch
            while taken == Self.endBatch, !context.drain.isOn { taken = await endOldCards(app, rule) }
        }
    }

    private func endOldCards(_ app: AppKey, _ rule: EndRule) async -> Int {
        do throws(StoreError) {
            let tasks = try await store.automaticEnds.take(app, rule, limit: Self.endBatch)
            await withDiscardingTaskGroup { group in
                for task in tasks { group.addTask { await end(task, rule) } }
            }
            return tasks.count
        } catch {
            logger.debug("cannot look for automatic ends: \(error)")
            return 0
        }
    }

    private func end(_ task: EndTask, _ rule: EndRule) async {
        let payload = Payload(task.publish, timestamp: Payload.timestampRange.lowerBound)
        var metadata: Logger.Metadata = ["app": "\(task.app)", "name": "\(task.name)"]
        do throws(StoreError) {
            let outcome = try await store.automaticEnds.run(
                task, rule, payload: payload.bytes, timestampOffset: Payload.timestampOffset)
            metadata["push"] = "\(outcome.push)"
            metadata["automatic"] = "true"
            metadata["cards"] = "\(outcome.cards)"
            switch outcome.verdict {
            case .nothing: break
            case .ended: logger.info("an automatic end was committed", metadata: metadata)
            case .postponed(let refusal): logger.info("an automatic end is tried again: \(refusal)", metadata: metadata)
            }
        } catch { logger.warning("an automatic end is postponed: \(error)", metadata: metadata) }
    }
}
