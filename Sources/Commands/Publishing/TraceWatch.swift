import Answers
import LiveActivity
import Store
import StrictJSON

/// Shows the trace of a push, each exchange as it comes.
struct TraceWatch: Sendable {
    let client: GatewayClient
    let pushID: String
    /// The most failed requests in a row: ten seconds.
    private static let patience = 20
    /// After this time a worker should have sent it.
    private static let suspicious: Duration = .seconds(5)
    /// The platform decides otherwise about these later: a worker tries again.
    private static let passing = [401, 403, 429]

    /// Waits until the platform has decided about the token, or until the push has ended, and prints the exchanges.
    /// - Parameter waits: false prints what is there now
    /// - Throws: with code 1 unless the platform has accepted the push for the token
    func report(json: Bool, waits: Bool = true) async throws {
        let started = ContinuousClock.now
        var (shown, isTold) = (0, false)
        while true {
            let (body, answer) = try await trace()
            let total = answer.total
            let exchanges = try answer.exchanges.map { try JSONDocument($0.bytes).root.object() }
            if !json {
                for exchange in exchanges.suffix(max(0, total - shown)) {
                    if shown > 0 { Terminal.print("") }
                    try ExchangeText.lines(exchange).forEach(Terminal.print)
                    shown += 1
                }
                shown = total
            }
            let status = try exchanges.last?["status"]?.integer() ?? 0
            let state = PushState(rawValue: answer.state)
            let isDecided = (200..<500).contains(status) && !Self.passing.contains(Int(status))
            if !waits || isDecided || state?.isFinal == true {
                if json { Terminal.print(json: body) }
                if !json, total == 0 { try await explain(answer, state) }
                guard status == 200 || !waits else { throw CommandFailure(.failed, "") }
                return
            }
            if total == 0, !isTold, ContinuousClock.now - started > Self.suspicious {
                isTold = true
                Terminal.error("no request has gone to the channel yet. 'lamplighter status' shows workers and alarms.")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Keeps trying while the gateway restarts, because the push goes on without it.
    private func trace() async throws -> ([UInt8], PushTraceAnswer) {
        var failures = 0
        while true {
            do {
                let body = try await client.send(.get("/api/push/\(pushID)/trace"))
                return (body, try GatewayClient.decode(body))
            } catch let failure as CommandFailure where failure.status == .unreachable && failures < Self.patience {
                failures += 1
                try await Task.sleep(for: .milliseconds(500))
            }
        }
    }

    /// Says why no request went to the channel.
    private func explain(_ trace: PushTraceAnswer, _ state: PushState?) async throws {
        let (name, channel) = (trace.name, trace.channelID)
        let push = state.map { $0.isFinal ? "is \($0.rawValue)" : "is \($0.rawValue) still" } ?? ""
        Terminal.print("No request went to channel \(channel). The push \(push).")
        // A hint only, so an error of this call does not matter.
        guard let answer = try? await client.send(.get("/api/activities/\(name)/channels/\(channel)")),
            let explanation: ExplanationAnswer = try? GatewayClient.decode(answer)
        else { return }
        for reason in explanation.reasons { Terminal.print("- \(reason.text)") }
        if explanation.reasons.isEmpty {
            Terminal.print("- It would get the next update for everyone. This push's audience may not have it.")
        }
    }
}
