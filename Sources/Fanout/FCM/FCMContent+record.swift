import FCMClient
import LiveActivity
import Store

extension FCMContent {
    /// How long FCM keeps an update for a device that is not connected, seconds. A state that is older is of no use.
    private static let updateLife = 900

    /// The content of a push for Android.
    /// - Parameter now: epoch milliseconds
    /// - Returns: nil if the push has no content for Android
    init?(_ record: PushRecord, _ name: ActivityName, now: Int64) {
        guard let android = record.android else { return nil }
        let deadline = Int(record.deadline / 1_000)
        let left = max(0, deadline - Int(now / 1_000))
        // A publisher's expiry counts. Without one, FCM would keep an update for hours.
        let longest = record.event == .update && record.expiry == nil ? min(left, Self.updateLife) : left
        self.init(
            pushID: record.id, name: name, event: record.event, type: android.type,
            timestamp: record.second ?? record.timestamp, contentState: android.contentState,
            dismissalDate: android.dismissalDate, priority: record.isDemoted ? .low : record.priority,
            timeToLive: record.expiry == 0 ? 0 : longest, expiration: deadline)
    }
}
