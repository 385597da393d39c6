import APNsWire
import Delivery
import LiveActivity
import Store

extension PushRecord {
    /// The entries of a page that the push is for: for an automatic end, the entries whose cards are old enough.
    func targets(of page: TokenPage) -> TokenPage {
        isAutomatic ? page.filtered { isFor(startedAt: page.entries[$0].startedAt) } : page
    }

    /// The payload for all tokens except some of a start. An automatic end shows the state of the update in `shown`.
    private var rendered: [UInt8] { isAutomatic ? Payload.end(payload, showing: shown) : payload }

    /// The push as it is sent to a token. A start of a name with a broadcast channel has a variant, for devices that
    /// can take updates from that channel.
    /// - Parameter isLate: a late joiner gets the content state without the alert, which told about the past
    func prepared(bundleID: String, _ name: ActivityName, isLate: Bool = false) -> PreparedPush {
        let isStart = event == .start
        var push = PreparedPush(
            bundleID: bundleID, priority: isDemoted ? .low : priority, expiration: expiry,
            collapseID: isStart ? CollapseID.start(name) : nil,
            // APNs refuses a start without an alert.
            payload: isLate && !isStart ? Payload.withoutAlert(rendered) : rendered)
        if isStart, let inputChannel {
            push.variantBody = Payload.start(payload, onBroadcastChannel: inputChannel).map { .shared($0) }
        }
        return push
    }

    /// The push was accepted for a broadcast channel alone: it is too large for a token.
    var isTooLarge: Bool { payload.count > Payload.maximumBytes }
    /// The reason for which such a push fails at a token.
    static let tooLarge = RejectionReason.Known.payloadTooLarge.rawValue
}

extension PreparedPush {
    var hasVariant: Bool { variantBody != nil }
    /// As it is rendered: an automatic end shows the state of another push.
    var isTooLarge: Bool { payload.count > Payload.maximumBytes }
}
