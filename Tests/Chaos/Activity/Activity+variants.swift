import Curl
import Foundation

/// Publishes that are cancelled, refused or expire.
extension Activity {
    /// Publishes and cancels. The update after it reaches the devices that the cancelled one did not reach.
    func publishCancelled(_ publish: Publish, after: Int) async throws {
        guard let accepted = try await publishPlain(publish) else { return }
        try await cancel(accepted, after: after)
        _ = try await publishPlain(Publish(audience: .all))
    }

    /// Publishes while APNs refuses. Afterwards an operator retries or drops the stopped push.
    func publishRefused(_ publish: Publish, _ refusal: Refusal, _ seed: UInt64) async throws {
        // Wait for earlier pushes, so that the refusal stops none of them.
        for push in pushes.open where push.name == plan.index { try await over(push.id) }
        var everyone = publish
        everyone.audience = .all
        let stoppedOne = try await refused(refusal.places, refusal.reason) { () async throws -> (Accepted, Ledger)? in
            guard let accepted = try await self.publishPlain(everyone) else { return nil }
            return (accepted, try await self.over(accepted.id))
        }
        guard let (accepted, ledger) = stoppedOne, ledger.state == "failed" else { return }
        stopped += 1
        let before = ledger.broadcast?.state == "delivered" ? await disturber?.broadcasts(accepted.number) : nil
        let path = "/api/dead/\(accepted.id)"
        if refusal.isDropped {
            pushes.mark(accepted.id, .dropped)
            let answer = try await gateways.call("DELETE", path)
            if answer.status != 204 && answer.attempts == 1 {
                found.note(.deadLetters, "\(plan.name): dropping \(accepted.number): \(answer.status) \(answer.text)")
            }
            _ = try await publishPlain(Publish(audience: .all))
            return
        }
        let answer = try await gateways.call("POST", path + "/retry", timeout: .seconds(10))
        // A repeated call reports an error if the first call was executed.
        if answer.status != 200 && answer.attempts == 1 {
            found.note(
                .deadLetters,
                "\(plan.name): retrying \(accepted.number): \(answer.status) \(answer.text)\n    was: \(ledger.text)")
        }
        let end = try await over(accepted.id)
        if end.state == "done" { try await judgeRetried(accepted, seed) }
        if let before { await judgeBroadcastOnce(accepted, before, ledger) }
    }

    /// Runs `body` while APNs refuses tokens of this name.
    private func refused<Result>(
        _ places: Int?, _ reason: String, _ body: () async throws -> sending Result
    ) async throws -> sending Result {
        await disturber?.refuse(plan.index, Tokens.prefix(name: plan.index, places: places), reason)
        do {
            let result = try await body()
            await disturber?.serve(plan.index)
            return result
        } catch {
            await disturber?.serve(plan.index)
            throw error
        }
    }

    private static let sampled = 40

    /// Checks that tokens which followed before the retried push got exactly that push, because nothing
    /// newer was published.
    private func judgeRetried(_ push: Accepted, _ seed: UInt64) async throws {
        guard let asked = pushes.find(push.id)?.asked, let disturber else { return }
        var random = SeededRandom(seed, "looked at")
        let following = places.indices.filter {
            places[$0].state == .following && places[$0].fate == .living && places[$0].answered < asked
        }
        for place in following.shuffled(using: &random).prefix(Self.sampled) {
            let id = token(place)
            guard let history = await disturber.history(id), token(place) == id else { continue }
            if !history.contains(where: { $0.reached && $0.order == push.number }) {
                found.note(
                    .deadLetters,
                    "\(plan.name) place \(place) did not get \(push.number), which was retried\n    "
                        + "\(Request.words(history))\n    ledger: \(pushes.find(push.id)?.ledger?.text ?? "none")")
            }
        }
    }

    /// While APNs accepts nothing, an update is accepted, and then one that expires before APNs accepts again. Cards
    /// must show the first one.
    func publishExpiring(_ publish: Publish, _ seconds: Int) async throws {
        let accepted = try await refused(nil, "ServiceUnavailable") { () async throws -> Accepted? in
            _ = try await self.publishPlain(Publish(audience: .all))
            let accepted = try await self.send(event: "update", audience: .all, expiry: seconds)
            try await Task.sleep(for: .milliseconds(seconds * 1_000 + 500))
            return accepted
        }
        guard let accepted else { return }
        let ledger = try await over(accepted.id)
        guard ledger["expired"] > 0 || ledger.state == "expired" else {
            let asked = pushes.find(accepted.id)?.asked ?? 0
            if places.contains(where: { $0.state == .following && $0.fate == .living && $0.answered < asked }) {
                found.note(
                    .deadLetters, "\(plan.name): \(accepted.number) reached nobody and did not expire: \(ledger.text)")
            }
            return
        }
        expired += 1
        let letter = try await gateways.call("GET", "/api/dead/\(accepted.id)")
        if letter.status != 200 {
            found.note(
                .deadLetters, "\(plan.name): \(accepted.number) expired without a dead letter: \(ledger.text)")
        }
        let retry = try await gateways.call("POST", "/api/dead/\(accepted.id)/retry")
        if retry.status != 409 {
            found.note(
                .deadLetters, "\(plan.name): \(accepted.number) expired, and its retry was answered \(retry.status)")
        }
    }
}
