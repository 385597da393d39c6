import APNsWire
import Delivery
import Store
import Testing

@testable import Fanout

/// Tests the meaning of each response to a broadcast.
@Suite struct BroadcastReportTests {
    private func report(
        _ status: Int, _ reason: RejectionReason.Known, attempts: Int = 1, retryAfter: Int? = nil, once: Bool = false
    ) -> BroadcastReport {
        report(
            .rejected(Rejection(status: status, reason: .known(reason), retryAfter: retryAfter)), attempts: attempts,
            once: once)
    }

    private func report(
        _ outcome: PushOutcome, attempts: Int = 1, deadline: Int64 = 30_000_000, once: Bool = false
    ) -> BroadcastReport {
        BroadcastReport(
            outcome,
            Attempt(
                made: attempts - 1, now: 1_000_000, deadline: deadline, triesOnce: once, backoff: RetryPolicy(),
                fraction: 0.5))
    }

    @Test func `what passes is tried again`() {
        let limited = report(429, .tooManyRequests, retryAfter: 7)
        #expect(limited.settlement.outcome == .again(after: .milliseconds(7_500)) && limited.settlement.status == 429)
        #expect(report(503, .serviceUnavailable, attempts: 3).settlement.outcome == .again(after: .milliseconds(2_000)))
        #expect(report(403, .expiredProviderToken).settlement.outcome == .again(after: .milliseconds(500)))
        let lost = report(.unanswered(.init(.connectionLost, mayHaveBeenDelivered: true)))
        #expect(lost.settlement.outcome == .again(after: .milliseconds(500)))
        #expect(
            lost.settlement.mayRepeat && lost.settlement.reason == "ConnectionLost" && lost.settlement.status == nil)
        #expect(lost.alarm == nil && !lost.isChannelGone)
    }

    @Test func `it is tried until it expires`() {
        #expect(
            report(429, .tooManyRequests, attempts: 900).settlement.outcome == .again(after: .milliseconds(150_000)))
        let busy = PushOutcome.rejected(Rejection(status: 503, reason: .known(.serviceUnavailable)))
        #expect(
            report(busy, attempts: 8, deadline: 1_020_000).settlement.outcome == .again(after: .milliseconds(18_000)))
        #expect(report(busy, attempts: 8, deadline: 1_000_100).settlement.outcome == .expired)
        #expect(report(429, .tooManyRequests, once: true).settlement.outcome == .failed)
    }

    @Test func `a channel that is gone is made anew`() {
        let gone = report(400, .channelNotRegistered)
        #expect(gone.isChannelGone && gone.settlement.outcome == .again(after: .milliseconds(500)))
    }

    @Test func `credentials ring and stay`() {
        let refused = report(403, .topicMismatch, attempts: 30)
        #expect(refused.alarm == "TopicMismatch" && refused.settlement.outcome == .again(after: .milliseconds(15_000)))
    }

    @Test func `mistakes end it`() {
        for reason in [RejectionReason.Known.badExpirationDate, .missingPushType, .badChannelId, .featureNotEnabled] {
            let refused = report(400, reason)
            #expect(refused.settlement.outcome == .failed && refused.settlement.reason == reason.rawValue)
            #expect(refused.alarm == reason.rawValue)
        }
        #expect(report(.accepted).settlement == BroadcastSettlement(.delivered, status: 200))
    }
}
