import APNsWire
import Delivery
import Testing

@Suite struct RejectionReasonTests {
    /// Apple's table, written a second time on purpose: status, verdict, reasons.
    private static let apple: [(status: Int, verdict: Verdict, reasons: String)] = [
        (400, .pruneToken, "BadDeviceToken DeviceTokenNotForTopic"),
        (
            400, .stopPush,
            """
            BadCollapseId BadExpirationDate BadMessageId BadPriority BadTopic DuplicateHeaders InvalidPushType \
            MissingDeviceToken MissingTopic PayloadEmpty TopicDisallowed
            """
        ),
        (
            400, .stopPush,
            """
            BadChannelId BadRequestParams BadRequestPayload CannotCreateChannelConfig FeatureNotEnabled \
            MissingChannelId MissingPushType
            """
        ),
        (400, .recreateTarget, "ChannelNotRegistered"),
        (403, .haltApp, "TopicMismatch"),
        (400, .retryOnFreshConnection, "IdleTimeout"),
        (403, .renewCredential, "ExpiredProviderToken"),
        (
            403, .haltApp,
            """
            InvalidProviderToken MissingProviderToken Forbidden BadCertificate BadCertificateEnvironment \
            BadEnvironmentKeyInToken BadEnvironmentKeyIdInToken
            """
        ),
        (403, .retryOnFreshConnection, "UnrelatedKeyIdInToken"),
        (404, .stopPush, "BadPath"),
        (405, .stopPush, "MethodNotAllowed"),
        (410, .pruneIfOlder, "Unregistered ExpiredToken"),
        (413, .stopPush, "PayloadTooLarge"),
        (429, .retry, "TooManyRequests"),
        (429, .useEarlierCredential, "TooManyProviderTokenUpdates"),
        (500, .retry, "InternalServerError"),
        (503, .retry, "ServiceUnavailable"),
        (503, .retryOnFreshConnection, "Shutdown"),
    ]

    @Test func `every reason has Apple's status and its verdict`() {
        var listed: Set<RejectionReason.Known> = []
        for row in Self.apple {
            for wire in row.reasons.split(separator: " ") {
                let reason = RejectionReason(wire: String(wire), status: row.status)
                guard case .known(let known) = reason else {
                    Issue.record("\(wire) is not in the table")
                    continue
                }
                #expect(known.status == row.status, "\(wire)")
                #expect(known.verdict == row.verdict, "\(wire)")
                #expect(reason.verdict(status: row.status) == row.verdict, "\(wire)")
                #expect(Rejection(status: row.status, reason: reason).verdict == row.verdict, "\(wire)")
                #expect(reason.wire == wire)
                listed.insert(known)
            }
        }
        #expect(listed == Set(RejectionReason.Known.allCases))
    }

    @Test func `only four reasons prune and each only with its own status`() {
        let pruning: Set<String> = ["BadDeviceToken", "DeviceTokenNotForTopic", "Unregistered", "ExpiredToken"]
        for known in RejectionReason.Known.allCases {
            for status in 300...599 {
                let verdict = RejectionReason.known(known).verdict(status: status)
                let prunes = verdict == .pruneToken || verdict == .pruneIfOlder
                #expect(prunes == (pruning.contains(known.rawValue) && status == known.status), "\(known) \(status)")
            }
        }
        for status in 300...599 {
            let verdict = RejectionReason(wire: "SomethingNew", status: status).verdict(status: status)
            #expect(verdict != .pruneToken && verdict != .pruneIfOlder)
        }
    }

    @Test func `an unknown reason is kept and judged by its status`() {
        let reason = RejectionReason(wire: "SomethingNew", status: 403)
        #expect(reason == .other("SomethingNew"))
        #expect(reason.wire == "SomethingNew")
        #expect(reason.verdict(status: 403) == .haltApp)
        #expect(reason.verdict(status: 400) == .retry)
        #expect(reason.verdict(status: 410) == .retry)
        #expect(reason.verdict(status: 429) == .retry)
        #expect(reason.verdict(status: 500) == .retry)
        #expect(reason.verdict(status: 599) == .retry)
        // Case matters, because the table has the spelling that APNs uses.
        #expect(RejectionReason(wire: "baddevicetoken", status: 400) == .other("baddevicetoken"))
    }

    /// An intermediary may answer like this, for one request of many.
    @Test(arguments: [301, 302, 404, 405, 408, 413, 418, 421, 451, 600, 999])
    func `a status without a reason that fits stops no push`(status: Int) {
        #expect(RejectionReason(wire: "", status: status).verdict(status: status) == .retry)
        #expect(RejectionReason(wire: "SomethingNew", status: status).verdict(status: status) == .retry)
        #expect(RejectionReason(wire: "BadTopic", status: status).verdict(status: status) == .retry)
    }

    @Test func `only a known reason with its own status stops a push`() {
        let wrong = RejectionReason.Known.allCases.flatMap { known in
            (300...599).filter { status in
                let stops = RejectionReason.known(known).verdict(status: status) == .stopPush
                return stops != (known.verdict == .stopPush && status == known.status)
            }.map { "\(known) \($0)" }
        }
        #expect(wrong.isEmpty)
    }

    @Test func `an answer without a reason is named by its status`() {
        #expect(RejectionReason(wire: "", status: 502).wire == "HTTP502")
        #expect(RejectionReason(wire: "", status: 410).verdict(status: 410) == .retry)
        #expect(RejectionReason(wire: "", status: 403).verdict(status: 403) == .haltApp)
    }

    @Test func `a reason that does not belong to its status is not believed`() {
        #expect(RejectionReason(wire: "Unregistered", status: 503).verdict(status: 503) == .retry)
        #expect(RejectionReason(wire: "BadDeviceToken", status: 403).verdict(status: 403) == .haltApp)
        #expect(RejectionReason(wire: "PayloadTooLarge", status: 429).verdict(status: 429) == .retry)
        #expect(RejectionReason(wire: "ExpiredProviderToken", status: 400).verdict(status: 400) == .retry)
    }
}
