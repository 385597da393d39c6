/// The reasons that people meet in a ledger, in words. They stand beside APNs's own, which one can search for.
public enum ReasonText {
    private static let meanings = [
        "Unregistered": "the card is gone: it ended, was dismissed, or the app was removed",
        "ExpiredToken": "the card's token is too old",
        "BadDeviceToken": "no token of this app in this environment",
        "DeviceTokenNotForTopic": "the token is of another app",
        "PayloadTooLarge": "the content state is too large",
        "TooManyRequests": "too many pushes to one device",
        "InternalServerError": "an error at Apple", "ServiceUnavailable": "Apple was not available",
        "Shutdown": "Apple restarted a server", "InvalidProviderToken": "Apple refused the app's key",
        "ExpiredProviderToken": "the sign-in at Apple was too old", "TopicDisallowed": "the bundle id is not allowed",
        "BadTopic": "the bundle id is wrong",
        "Quarantined": "APNs rejected many tokens at once: these wait for a decision",
        "Timeout": "Apple gave no answer in time", "ConnectionLost": "the connection to Apple broke",
        "ConnectionFailed": "Apple was not reached", "Dismissed": "the user dismissed the name's card",
        "NoAddress": "FCM does not know the device's address any more, or the app has told none",
        "NotificationsOff": "the user lets the app show no notification",
        "UNREGISTERED": "the app was removed from the device, or has a new address",
        "SENDER_ID_MISMATCH": "the address is of another Firebase project",
        "INVALID_REGISTRATION": "no address of FCM", "QUOTA_EXCEEDED": "over the project's quota at Google",
        "NameEnded": "an end had closed the name",
        "Conflict": "another push of the name came first",
        "TimestampBehind": "a newer state was published before", "QueueFull": "too many pushes of the name waited",
    ]

    /// A reason of a ledger in words. Nil: there are none, so people see the reason alone.
    public static func meaning(_ reason: String) -> String? { meanings[reason] }
}
