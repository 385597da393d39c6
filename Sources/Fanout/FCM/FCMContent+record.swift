import FCMWire
import LiveActivity
import Store

extension FCMContent {
    /// The content of a push for Android.
    /// - Parameter now: epoch milliseconds
    /// - Returns: nil if the push has no content for Android
    init?(_ record: PushRecord, _ name: ActivityName, now: Int64) {
        guard let content = record.contents[.android] else { return nil }
        self.init(
            content, pushID: record.id, name: name, event: record.event, second: record.second ?? record.timestamp,
            priority: record.isDemoted ? .low : record.priority, expiry: record.expiry, deadline: record.deadline,
            now: now)
    }
}
