import StrictJSON

extension AirshipKey {
    /// Keys of a push beside `audience`, `device_types`, `notification` and `options`.
    static let push: [AirshipKey] =
        [
            AirshipKey("message", .notSent, "a Message Center message"),
            AirshipKey("in_app", .notSent, "an in-app message"),
            AirshipKey("actions", .notSent, "actions of an ordinary notification"),
            AirshipKey("campaigns", .ignored, "there are no campaign reports"),
            AirshipKey("message_type", .ignored, "commercial and transactional pushes are sent alike"),
            AirshipKey("trace", .ignored, "every push has a ledger, `GET /api/push/{push_id}`"),
            AirshipKey("localizations", .ignored, "every device gets the one `live_activity`, whatever its language"),
            AirshipKey(
                "orchestration", .ignored,
                "every channel of the audience that follows the name gets the push (`fan_out`)"),
        ] + templateKeys.map { AirshipKey($0, .ignored, "Lamplighter fills in no templates") }

    static let options: [AirshipKey] = [
        AirshipKey("no_throttle", .granted, "no limit of a whole project slows a push"),
        AirshipKey("bypass_frequency_limits", .granted, "there are no message limits"),
        AirshipKey("bypass_holdout_groups", .granted, "there are no holdout groups"),
        AirshipKey("bypass_ban_list_processing", .granted, "there are no ban lists"),
        AirshipKey("omit_from_activity_log", .granted, "there is no activity log"),
        AirshipKey("redact_payload", .granted, "no log holds a payload"),
        AirshipKey("use_strict_sms_validation", .granted, "no SMS is sent"),
        AirshipKey(
            "personalization", .refused,
            "must not be true: Lamplighter fills in no templates, so the lock screen would show the braces. "
                + "Send the finished text"),
        AirshipKey(
            "audience_limits", .refused,
            "is not supported: the push would reach more devices than it allows. Narrow the audience instead"),
        AirshipKey(
            "ban_list_parameters", .refused,
            "is not supported: no ban list would be asked, so everybody on it would get the push. "
                + "Leave them out of the audience instead"),
    ]

    static let notification: [AirshipKey] =
        ["alert", "actions", "interactive", "extra"].map { AirshipKey($0, .notSent, "an ordinary notification") }
        + ["android", "amazon", "web", "email", "sms", "mms", "wns", "open::"].map {
            AirshipKey($0, .notSent, "another platform")
        }

    static let ios: [AirshipKey] = [
        "alert", "actions", "badge", "category", "collapse_id", "content_available", "content-available", "expiry",
        "extra", "filter_criteria", "interactive", "interruption_level", "localizations", "media_attachment",
        "mutable_content", "mutable-content", "priority", "relevance_score", "relevance-score", "sound", "subtitle",
        "target_content_id", "template", "thread_id", "title",
    ].map { AirshipKey($0, .notSent, "an ordinary notification") }

    /// The values that `device_types` may hold.
    static let platforms = ["ios", "android", "amazon", "web", "email", "sms", "mms", "wns"]
    private static let templateKeys = ["global_attributes", "feed_references", "feeds", "snippet_references"]

    /// Whether Airship would fill in templates for this push, even if `options.personalization` is absent.
    static func fillInTemplates(_ push: JSONObject, _ notification: JSONObject) -> Bool {
        templateKeys.contains { push[$0]?.asksForSomething == true }
            || notification.members.contains { (try? $0.value.object())?["template"]?.asksForSomething == true }
    }
}
