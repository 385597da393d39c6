import Foundation

/// Follows a push to its end, with a progress bar on a terminal.
struct PushWatch: Sendable {
    let client: GatewayClient
    let pushID: String

    /// The final ledger, decoded and as it came.
    func finish() async throws -> (report: LedgerReport, body: [UInt8]) {
        var bar = ProgressBar()
        let started = ContinuousClock.now
        while true {
            let body: [UInt8]
            do {
                body = try await client.send("GET", "/api/push/\(pushID)")
            } catch {
                bar.abandon()
                throw error
            }
            let report = try GatewayClient.decode(LedgerReport.self, body)
            let settled = report.targets - report.pending
            let seconds =
                Double((ContinuousClock.now - started).components.attoseconds) / 1e18
                + Double((ContinuousClock.now - started).components.seconds)
            let rate = seconds > 0.2 ? "  \(Terminal.grouped(Int(Double(settled) / seconds)))/s" : ""
            let whole = Terminal.grouped(report.targets)
            if report.expanded {
                let share = report.targets == 0 ? 1 : Double(settled) / Double(report.targets)
                bar.draw(share, "\(Terminal.grouped(settled)) of \(whole)\(rate)", isLast: report.isFinal)
            } else {
                bar.draw(
                    report.isFinal ? 1 : nil, "\(Terminal.grouped(settled)) of \(whole) so far\(rate)",
                    isLast: report.isFinal)
            }
            if report.isFinal { return (report, body) }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Waits, prints the ledger, and fails unless it ended well.
    func report(json: Bool) async throws {
        let (report, body) = try await finish()
        if json { Terminal.print(json: body) } else { report.lines.forEach(Terminal.print) }
        guard report.isGood else {
            throw CommandFailure(.failed, json ? "" : "the push ended as '\(report.state)'")
        }
    }
}
