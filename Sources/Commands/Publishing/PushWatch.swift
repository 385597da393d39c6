import Answers
import LiveActivity

/// Waits until a push is final, with a progress bar on a terminal.
struct PushWatch: Sendable {
    let client: GatewayClient
    let pushID: String
    /// How many tokens the push will have, while the ledger still counts them. Nil if unknown.
    var expected: Int?
    /// The audience of a push that was just published, if it is not all.
    var audience: String?
    /// The most failed requests in a row: ten seconds.
    private static let patience = 20
    /// After this time a worker should have begun the push.
    private static let suspicious: Duration = .seconds(5)

    /// Waits for the final ledger, and returns it decoded and as received.
    func finish() async throws -> (report: LedgerAnswer, body: [UInt8]) {
        var bar = ProgressBar()
        let started = ContinuousClock.now
        var failures = 0
        var isTold = false
        while true {
            let body: [UInt8]
            do {
                body = try await client.send(.get("/api/push/\(pushID)"))
                failures = 0
            } catch let failure as CommandFailure {
                // Keep trying while the gateway restarts, because the push goes on without it.
                failures += 1
                guard failure.status == .unreachable, failures < Self.patience else {
                    bar.abandon()
                    throw CommandFailure(
                        failure.status,
                        """
                        \(failure.message)
                        Push \(pushID) was accepted and goes on. 'lamplighter push \(pushID) --wait' shows its outcome.
                        """)
                }
                try await Task.sleep(for: .milliseconds(500))
                continue
            }
            let report: LedgerAnswer = try GatewayClient.decode(body)
            let settled = report.settled
            let seconds = (ContinuousClock.now - started) / .seconds(1)
            let perSecond = seconds > 0.2 ? Double(settled) / seconds : 0
            let rate = seconds > 0.2 ? "  \(Terminal.grouped(Int(perSecond)))/s" : ""
            let whole = report.expanded ? report.targets : expected.map { max($0, report.targets) }
            let left = whole.flatMap { report.isFinal ? nil : report.timeLeft(of: $0, rate: perSecond) }
            let share = whole.map { $0 == 0 ? 1 : Double(settled) / Double($0) }
            let of = whole.map(Terminal.grouped) ?? "\(Terminal.grouped(report.targets)) so far"
            let text = "\(Terminal.grouped(settled)) of \(of)\(rate)" + (left.map { "  \($0)" } ?? "")
            bar.draw(report.isFinal ? 1 : share, text, isLast: report.isFinal)
            if report.isFinal { return (report, body) }
            if report.state == "queued", !isTold, ContinuousClock.now - started > Self.suspicious {
                isTold = true
                bar.abandon()
                Terminal.error(
                    "push \(pushID) waits because no worker has begun it. 'lamplighter status' shows the workers and alarms."
                )
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Waits, prints the ledger, and throws unless the push ended well.
    func report(json: Bool, failBelow least: Percent?) async throws {
        let (report, body) = try await finish()
        if json { Terminal.print(json: body) } else { report.lines.forEach(Terminal.print) }
        if let audience, report.state == "done", report.targets == 0, report.broadcast == nil {
            Terminal.error("warning: nobody who follows \(report.name) fits the audience \(audience)")
        }
        if let failure = report.failure(below: least) { throw CommandFailure(.failed, json ? "" : failure) }
    }
}
