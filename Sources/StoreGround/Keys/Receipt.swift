public import LiveActivity

/// An app's word on a card: it shows the content state of a push, or it ended or was dismissed while it showed it.
public enum ReceiptEvent: String, Sendable, Hashable, CaseIterable {
    case shown, ended, dismissed
}

public struct Receipt: Sendable, Hashable {
    /// The push whose content state the card shows.
    public var push: PushID
    public var event: ReceiptEvent
    public var channel: ChannelID

    public init(push: PushID, event: ReceiptEvent, channel: ChannelID) {
        (self.push, self.event, self.channel) = (push, event, channel)
    }
}

/// The results of a call's receipts.
public struct ReceiptTally: Sendable, Hashable {
    /// Their push counts them, or has counted them before.
    public var accepted: Int
    /// Their push was accepted longer ago than `Receipts.window`.
    public var late: Int
    /// The app has no such push, or its record has expired.
    public var unknown: Int

    package init(accepted: Int = 0, late: Int = 0, unknown: Int = 0) {
        self.accepted = accepted
        self.late = late
        self.unknown = unknown
    }
}
