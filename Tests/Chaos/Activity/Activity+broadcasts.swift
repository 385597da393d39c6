import Foundation

/// A name that owns a broadcast channel.
extension Activity {
    /// Asks for the channel. The first pushes may be accepted before a worker has made it.
    func makeBroadcastChannel() async throws {
        let storage = plan.index % 2 == 0 ? "newest" : "none"
        let answer = try await gateways.call(
            "PUT", plan.path + "/broadcast?wait=0", #"{"storage":"\#(storage)"}"#)
        if answer.status != 200 && answer.status != 202 {
            found.note(.broadcastChannels, "\(plan.name): making it: \(answer.status) \(answer.text)")
        }
    }

    /// Checks that the retry of a dead letter did not repeat a broadcast that was delivered.
    func judgeBroadcastOnce(_ push: Accepted, _ before: Int, _ ledger: Ledger) async {
        guard let after = await disturber?.broadcasts(push.number), after > before else { return }
        found.note(
            .duplicates,
            "\(plan.name): the retry of \(push.number) broadcast it once more: \(after) times\n    was: \(ledger.text)")
    }
}
