import Answers
import LiveActivity
import Store

/// Receipts: devices tell of the content states that their cards show.
struct ReceiptCalls: CallGroup {
    private let receipts: Receipts
    private let metrics: GatewayMetrics

    init(_ parts: GatewayParts) { (receipts, metrics) = (parts.store.receipts, parts.metrics) }

    /// Counts each device once for each push and event. A receipt that does not count is no error,
    /// because a device cannot know which pushes are kept, and would send it again.
    func count(_ call: Call) async throws -> Answer {
        guard call.app.takesReceipts else { throw APIError.receiptsOff }
        let told = try ReceiptsBody.parse(
            call.body.collect(), from: try? call.actingChannel(), isDevice: call.credential.isDevice)
        let tally = try await receipts.count(call.app.key, told)
        metrics.receipts(call.app.key, tally)
        return Answer(200, ReceiptTallyAnswer(accepted: tally.accepted, late: tally.late, unknown: tally.unknown))
    }
}

extension APIError {
    static let receiptsOff = APIError(
        403, "Receipts are off for this app. Set defaults.receipts to true in the configuration of the gateway.")
}
