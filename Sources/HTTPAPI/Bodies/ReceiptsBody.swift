import LiveActivity
import Store
import StrictJSON

/// The body of `POST /api/receipts`: `{"receipts":[{"push_id","event","channel_id"?}]}`.
enum ReceiptsBody {
    /// The most receipts of one call.
    static let maximumReceipts = 200

    /// - Parameters:
    ///   - channel: the caller's channel, which receipts without a `channel_id` are from.
    ///   - isDevice: the credential is the channel's, so no receipt may be from another channel.
    static func parse(_ bytes: [UInt8], from channel: ChannelID?, isDevice: Bool) throws(JSONError) -> [Receipt] {
        let body = try JSONDocument(bytes).root.object(known: ["receipts"])
        let entries = try body.required("receipts").array(atMost: maximumReceipts, "receipts")
        return try entries.map { value throws(JSONError) in try receipt(value, from: channel, isDevice) }
    }

    private static func receipt(
        _ value: JSONValue, from caller: ChannelID?, _ isDevice: Bool
    ) throws(JSONError) -> Receipt {
        let entry = try value.object(known: ["push_id", "event", "channel_id"])
        let id = try entry.required("push_id")
        let text = try id.string()
        guard let push = PushID(short: text) ?? PushID(text) else {
            throw id.error("must be the `lamplighter` of a content state (22 characters), or a push id (a UUID)")
        }
        let event = try self.event(entry.required("event"))
        guard let named = entry["channel_id"] else {
            if let caller { return Receipt(push: push, event: event, channel: caller) }
            throw entry.missing("channel_id", "is required with a secret: it is the channel that the receipt is from")
        }
        let channel = try named.channelID()
        guard !isDevice || channel == caller else {
            throw named.error("must be the channel of the caller's credential; leave it out")
        }
        return Receipt(push: push, event: event, channel: channel)
    }

    private static func event(_ value: JSONValue) throws(JSONError) -> ReceiptEvent {
        let text = try value.string()
        if let event = ReceiptEvent(rawValue: text) { return event }
        let known = ReceiptEvent.allCases.map(\.rawValue)
        throw value.error("must be shown, ended or dismissed\(known.suggestion(for: text))")
    }
}
