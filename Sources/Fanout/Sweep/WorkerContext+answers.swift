import Delivery
import LiveActivity
import Logging
import Store

/// Acts on answers of APNs, whether their page still waits for them or they come late.
extension WorkerContext {
    /// The decision for each token that was answered. Counts the verdicts for the prune guard.
    /// - Parameter elsewhere: indices of entries that were answered by the app's other environment
    func report(
        _ app: WorkerApp, _ page: TokenPage, _ outcome: PageOutcome, _ record: PushRecord, elsewhere: Set<Int>
    ) -> PageReport {
        let report = PageReport(
            page, outcome, now: store.time.now(), deadline: record.deadline, triesOnce: record.expiry == 0,
            backoff: options.retries, elsewhere: elsewhere,
            attributesType: record.event == .start ? record.attributesType ?? "" : nil,
            pause: { circuits.nextPause(app.key, $0) }, random: { Double.random(in: 0..<1) })
        verdictLog.note(app.key, report.verdicts, now: store.time.now())
        return report
    }

    /// Opens or closes the app's circuit.
    /// - Returns: how long the circuit stays open, if it does
    func updateCircuit(_ app: WorkerApp, _ report: PageReport, _ log: Logger) async -> Duration? {
        if let refusal = report.otherRefusal { await raiseAlarm(app.key, .otherEnvironment, refusal) }
        if let halt = report.halt {
            if circuits.open(app.key, halt, now: now) {
                metrics.circuit(app.key, isOpen: true)
                log.error("\(halt.cause.alarm.alarmText)", metadata: ["reason": "\(halt.reason)"])
                try? await store.alarms.raise(app.key, halt.cause.alarm, halt.reason)
            }
            return circuits.pause(of: app.key, now: now) ?? .zero
        }
        if report.delivered > 0, let halt = circuits.close(app.key) {
            metrics.circuit(app.key, isOpen: false)
            log.notice("APNs accepts this app's pushes again", metadata: ["reason": "\(halt.reason)"])
            // One halt may have followed the other, so a delivery clears both alarms.
            for cause in Halt.Cause.allCases { try? await store.alarms.clear(app.key, cause.alarm) }
        }
        return nil
    }

    /// Takes back the notes of channels that got no card from a start, because APNs refused their only attempt for
    /// good. If the worker dies before this, their notes stay for 8 h without effect.
    /// - Parameter before: the notes of earlier starts, by index in the page
    func removeNotes(
        _ app: AppKey, _ name: ActivityName, _ page: TokenPage, _ outcome: PageOutcome, _ report: PageReport,
        before: [Int: [UInt8]]
    ) async throws(StoreError) {
        let answered = Set(
            outcome.exceptions.filter { if case .rejected = $0.outcome { true } else { false } }.map(\.index))
        let unreached = report.exceptions.filter { exception in
            if case .retry = exception.decision { return false }
            return page.entries[exception.index].attempt == 0 && answered.contains(exception.index)
        }
        if unreached.isEmpty { return }
        try await store.lateJoiners.expectNothing(
            app, name, unreached.map { (Array(page.channel($0.index)), before[$0.index]) })
    }

    /// Keeps the exchanges of a traced token.
    func keep(
        _ trace: Trace, attempt: Int, _ app: AppKey, _ name: ActivityName, _ record: PushRecord
    ) async throws(StoreError) {
        let exchanges = trace.exchanges.map { $0.json(attempt: attempt) }
        // Nothing left this machine.
        if exchanges.isEmpty { return }
        try await store.traces.add(app, name, record.id, exchanges)
    }
}
