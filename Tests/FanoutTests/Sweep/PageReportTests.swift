import APNsClient
import APNsWire
import Delivery
import LiveActivity
import Store
import Testing

@testable import Fanout

/// Tests the worker's decision for each outcome of a token, as a table.
@Suite struct PageReportTests {
    static let now: Int64 = 1_795_000_000_000

    /// The report for a page of one token, which was registered a minute ago and had `attempts` attempts.
    func report(
        _ outcome: PushOutcome, attempts: Int = 0, deadline: Int64 = now + 3_600_000, triesOnce: Bool = false
    ) -> PageReport {
        var page = TokenPage()
        page.append(channel: [1], token: [2], registeredAt: Self.now - 60_000, attempt: attempts)
        return PageReport(
            page, PageOutcome(exceptions: [.init(index: 0, outcome: outcome)]), now: Self.now, deadline: deadline,
            triesOnce: triesOnce, backoff: RetryPolicy(), pause: { _ in .seconds(15) }, random: { 0.5 })
    }

    func decision(_ status: Int, _ reason: String, timestamp: Int64? = nil, retryAfter: Int? = nil) -> PageReport
        .Decision?
    {
        let reason = RejectionReason(wire: reason, status: status)
        let rejection = Rejection(status: status, reason: reason, timestamp: timestamp, retryAfter: retryAfter)
        return report(.rejected(rejection)).exceptions.first?.decision
    }

    @Test func `dead tokens are to be removed, with the time of their death`() {
        func prune(_ reason: String, _ since: Int64?) -> PageReport.Decision {
            .dead(TokenRemoval(channel: [1], token: [2], deadSince: since, reason: reason))
        }
        #expect(decision(400, "BadDeviceToken") == prune("BadDeviceToken", nil))
        #expect(decision(400, "DeviceTokenNotForTopic") == prune("DeviceTokenNotForTopic", nil))
        #expect(
            decision(410, "Unregistered", timestamp: 1_794_000_000_000) == prune("Unregistered", 1_794_000_000_000))
        #expect(decision(410, "ExpiredToken") == prune("ExpiredToken", Self.now))
    }

    @Test func `nothing is pruned on a word that does not belong to its status`() {
        #expect(decision(500, "Unregistered") == .retry(due: Self.now + 500, attempts: 1))
        #expect(decision(410, "<html>") == .retry(due: Self.now + 500, attempts: 1))
    }

    @Test(arguments: ["PayloadTooLarge", "BadTopic", "TopicDisallowed", "PayloadEmpty", "BadPriority"])
    func `what is wrong for every token stops the push`(reason: String) throws {
        let known = try #require(RejectionReason.Known(rawValue: reason))
        let rejection = Rejection(status: known.status, reason: .known(known))
        let report = report(.rejected(rejection))
        #expect(report.stop == reason && report.exceptions.first?.decision == .failed && report.errors == [reason: 1])
    }

    @Test func `a pause of the app spends no attempt, and an answer that blames nobody fails its token alone`() {
        let quota = Rejection(status: 429, reason: "QUOTA_EXCEEDED", verdict: .pauseApp, retryAfter: 30)
        let paused = report(.rejected(quota), attempts: 2)
        #expect(paused.halt == Halt(cause: .busy, reason: "QUOTA_EXCEEDED", retryAfter: 30) && paused.isUnsent)
        #expect(paused.exceptions.first?.decision == .retry(due: Self.now + 22_500, attempts: 2))
        let failed = report(.rejected(Rejection(status: 400, reason: "INVALID_ARGUMENT", verdict: .failToken)))
        #expect(failed.exceptions.first?.decision == .failed && failed.exceptions.first?.isGivenUp == true)
        #expect(failed.stop == nil && failed.halt == nil)
    }

    @Test func `wrong credentials halt the app and keep the token`() {
        let report = report(.rejected(Rejection(status: 403, reason: .known(.invalidProviderToken))))
        #expect(report.halt == Halt(cause: .credentials, reason: "InvalidProviderToken") && report.stop == nil)
        #expect(
            report.exceptions.first?.decision == .retry(due: Self.now + 22_500, attempts: 0),
            "no attempt of the token's")
        #expect(report.isUnsent, "a page refused whole is read again when the app is back: no thousand retries")
    }

    @Test func `a page that the credentials failed in the middle of is settled`() {
        var page = TokenPage()
        for token in 0..<2 { page.append(channel: [1], token: [UInt8(token)], registeredAt: 0) }
        let refused = PushOutcome.rejected(Rejection(status: 403, reason: .known(.invalidProviderToken)))
        let report = PageReport(
            page, PageOutcome(accepted: 1, exceptions: [.init(index: 1, outcome: refused)]), now: 0, deadline: 60_000,
            triesOnce: false, backoff: RetryPolicy(), pause: { _ in .seconds(1) }, random: { 0.5 })
        #expect(!report.isUnsent && report.halt?.cause == .credentials && report.delivered == 1)
    }

    @Test(arguments: [NoAnswer.Cause.connectionFailed, .tls, .timeout])
    func `a page that never left needs no settling`(cause: NoAnswer.Cause) {
        let report = report(.unanswered(NoAnswer(cause, mayHaveBeenDelivered: false)))
        #expect(report.isUnsent && report.halt == Halt(cause: .unreachable, reason: cause.rawValue))
    }

    @Test func `a connection that fails beside others that work does not halt the app`() {
        var page = TokenPage()
        for token in 0..<2 { page.append(channel: [1], token: [UInt8(token)], registeredAt: 0) }
        let failed = PushOutcome.unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))
        let report = PageReport(
            page, PageOutcome(accepted: 1, exceptions: [.init(index: 1, outcome: failed)]), now: 0, deadline: 60_000,
            triesOnce: false, backoff: RetryPolicy(), pause: { _ in .seconds(1) }, random: { 0.5 })
        #expect(report.halt == nil && !report.isUnsent)
        #expect(report.exceptions.map(\.decision) == [.retry(due: 1_500, attempts: 0)])
    }

    @Test func `busy and broken are tried again later and later`() {
        #expect(decision(429, "TooManyRequests") == .retry(due: Self.now + 500, attempts: 1))
        #expect(decision(503, "ServiceUnavailable", retryAfter: 7) == .retry(due: Self.now + 7_500, attempts: 1))
        let third = report(.rejected(Rejection(status: 500, reason: .known(.internalServerError))), attempts: 3)
        #expect(third.exceptions.first?.decision == .retry(due: Self.now + 4_000, attempts: 4))
    }

    @Test func `retries go on until the push expires`() {
        let broken = PushOutcome.rejected(Rejection(status: 500, reason: .known(.internalServerError)))
        #expect(
            report(broken, attempts: 10).exceptions.first?.decision == .retry(due: Self.now + 150_000, attempts: 11))
        #expect(
            report(broken, attempts: 900).exceptions.first?.decision == .retry(due: Self.now + 150_000, attempts: 901))
        // The retry queue of a channel has room for this many attempts.
        #expect(
            report(broken, attempts: 60_000).exceptions.first?.decision
                == .retry(due: Self.now + 150_000, attempts: 10_000))
    }

    @Test func `the last attempt is shortly before the deadline`() {
        let busy = PushOutcome.rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
        func due(_ left: Int64) -> PageReport.Decision? {
            report(busy, attempts: 8, deadline: Self.now + left).exceptions.first?.decision
        }
        #expect(due(20_000) == .retry(due: Self.now + 18_000, attempts: 9))
        #expect(due(1_600) == .retry(due: Self.now + 1_400, attempts: 9))
        // There are no further attempts shortly before the deadline.
        #expect(due(159) == .expired)
        #expect(due(0) == .expired)
        let other = PushOutcome.rejected(Rejection(status: 404, reason: .other("HTTP404")))
        #expect(
            report(other, attempts: 8, deadline: Self.now + 20_000).exceptions.first?.decision
                == .retry(due: Self.now + 18_000, attempts: 9))
    }

    @Test func `a retry after is kept to up to the deadline`() {
        func due(_ seconds: Int, _ left: Int64) -> PageReport.Decision? {
            let busy = Rejection(status: 503, reason: .known(.serviceUnavailable), retryAfter: seconds)
            return report(.rejected(busy), deadline: Self.now + left).exceptions.first?.decision
        }
        // The retry is not before that time, although the jitter after it would be too late.
        #expect(due(7, 7_400) == .retry(due: Self.now + 7_000, attempts: 1))
        #expect(due(5, 5_600) == .retry(due: Self.now + 5_500, attempts: 1))
        // The time is after the deadline, so the token waits and is given up at the deadline.
        #expect(due(30, 20_000) == .retry(due: Self.now + 20_000, attempts: 1))
    }

    @Test func `an unknown fate may be a duplicate only when it is sent again`() {
        let lost = PushOutcome.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))
        func mayBeDuplicate(_ report: PageReport) -> Bool? { report.exceptions.first?.mayBeDuplicate }
        #expect(mayBeDuplicate(report(lost)) == true)
        #expect(mayBeDuplicate(report(lost, triesOnce: true)) == false)
        let unsent = PushOutcome.unanswered(NoAnswer(.connectionLost, mayHaveBeenDelivered: false))
        #expect(mayBeDuplicate(report(unsent)) == false)
    }

    @Test(arguments: [NoAnswer.Cause.paced, .cancelled, .connectionFailed])
    func `after a wait for the platform the next attempt is the first`(cause: NoAnswer.Cause) {
        let exception = report(.unanswered(NoAnswer(cause, mayHaveBeenDelivered: false))).exceptions.first
        #expect(exception?.wasSent == false)
        #expect(report(.unanswered(NoAnswer(.timeout, mayHaveBeenDelivered: true))).exceptions.first?.wasSent == true)
    }

    @Test(arguments: [Halt.Cause.busy, .credentials])
    func `a token that an open circuit keeps waits as long, and counts no attempt and no error`(cause: Halt.Cause) {
        let halt = Halt(cause: cause, reason: "QUOTA_EXCEEDED")
        let report = report(halt.outcome, attempts: 2)
        #expect(report.exceptions.first?.decision == .retry(due: Self.now + 22_500, attempts: 2))
        #expect(report.exceptions.first?.wasSent == false && report.exceptions.first?.reason == "")
        #expect(report.errors.isEmpty && report.halt == halt && report.isUnsent)
        let asked = self.report(.rejected(Rejection(status: 429, reason: "QUOTA_EXCEEDED", verdict: .pauseApp)))
        #expect(asked.exceptions.first?.wasSent == true && asked.errors == ["QUOTA_EXCEEDED": 1])
    }

    @Test func `nothing is tried past its deadline and a push with expiry zero once`() {
        let busy = PushOutcome.rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
        #expect(report(busy, deadline: Self.now).exceptions.first?.decision == .expired)
        #expect(report(busy, triesOnce: true).exceptions.first?.decision == .failed)
    }

    @Test func `what was not tried is not used up by trying once`() {
        let refused = PushOutcome.rejected(Rejection(status: 403, reason: .known(.invalidProviderToken)))
        #expect(
            report(refused, triesOnce: true).exceptions.first?.decision == .retry(due: Self.now + 22_500, attempts: 0))
        let unsent = PushOutcome.unanswered(NoAnswer(.connectionFailed, mayHaveBeenDelivered: false))
        #expect(
            report(unsent, triesOnce: true).exceptions.first?.decision == .retry(due: Self.now + 22_500, attempts: 0))
    }

    @Test func `an index outside the page is not trusted`() {
        let outcome = PageOutcome(accepted: 1, exceptions: [.init(index: 7, outcome: .accepted)])
        let report = PageReport(
            TokenPage(), outcome, now: 0, deadline: 1, triesOnce: false, backoff: RetryPolicy(), pause: { _ in .zero },
            random: { 0 })
        #expect(report.exceptions.isEmpty)
    }
}

@Suite struct BackoffTests {
    @Test func `delays double up to the cap with full jitter`() {
        let backoff = RetryPolicy()
        #expect(
            (1...8).map { backoff.delay(afterAttempts: $0, fraction: 1) }
                == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        // APNs gets fewer attempts during a long outage.
        #expect(backoff.delay(afterAttempts: 10, fraction: 1) == .seconds(60))
        #expect(backoff.delay(afterAttempts: 11, fraction: 1) == .seconds(300))
        #expect(backoff.delay(afterAttempts: 5, fraction: 0) == .zero)
        #expect(backoff.delay(afterAttempts: 1_000, fraction: 0.5) == .seconds(150))
        #expect(backoff.delay(afterAttempts: 1, fraction: 0, retryAfter: 1_000_000) == .seconds(3_600))
        #expect(backoff.delay(afterAttempts: 1, fraction: 0, retryAfter: -5) == .zero)
    }
}
