import LiveActivity
import StrictJSON

extension ForeignAPI {
    static let airship = ForeignAPI(
        keys: [
            .push: AirshipPush.keys, .options: AirshipPush.options, .notification: AirshipPush.notification,
            .block(.ios): AirshipPush.ios, .block(.android): AirshipPush.android,
        ],
        check: { push, warnings throws(JSONError) in
            let areTemplates = AirshipPush.fillInTemplates(push.body, push.notification)
            try TemplateCheck.check(push.activity, areTemplates: areTemplates, warnings: &warnings)
        },
        refusal: { method, components, near in
            UnservedPath.row(method: method, components, near: near).map { row in
                "Lamplighter does not serve this call of Airship's API. \(row.advice)"
            }
        })
}

/// The keys of Airship's pushes. A test compares them with the feature's page.
enum AirshipPush {
    /// Keys of a push beside `audience`, `device_types`, `notification` and `options`.
    static let keys: [ForeignKey] =
        [
            ForeignKey("message", .notSent, "a Message Center message"),
            ForeignKey("in_app", .notSent, "an in-app message"),
            ForeignKey("actions", .notSent, "actions of an ordinary notification"),
            ForeignKey("campaigns", .ignored, "there are no campaign reports"),
            ForeignKey("message_type", .ignored, "commercial and transactional pushes are sent alike"),
            ForeignKey("trace", .ignored, "every push has a ledger, `GET /api/push/{push_id}`"),
            ForeignKey("localizations", .ignored, "every device gets the one `live_activity`, whatever its language"),
            ForeignKey(
                "orchestration", .ignored,
                "every channel of the audience that follows the name gets the push (`fan_out`)"),
        ] + templateKeys.map { ForeignKey($0, .ignored, "Lamplighter fills in no templates") }

    static let options: [ForeignKey] = [
        ForeignKey("no_throttle", .granted, "no limit of a whole project slows a push"),
        ForeignKey("bypass_frequency_limits", .granted, "there are no message limits"),
        ForeignKey("bypass_holdout_groups", .granted, "there are no holdout groups"),
        ForeignKey("bypass_ban_list_processing", .granted, "there are no ban lists"),
        ForeignKey("omit_from_activity_log", .granted, "there is no activity log"),
        ForeignKey("redact_payload", .granted, "no log holds a payload"),
        ForeignKey("use_strict_sms_validation", .granted, "no SMS is sent"),
        ForeignKey(
            "personalization", .refused,
            "must not be true: Lamplighter fills in no templates, so the lock screen would show the braces. "
                + "Send the finished text"),
        ForeignKey(
            "audience_limits", .refused,
            "is not supported: the push would reach more devices than it allows. Narrow the audience instead"),
        ForeignKey(
            "ban_list_parameters", .refused,
            "is not supported: no ban list would be asked, so everybody on it would get the push. "
                + "Leave them out of the audience instead"),
    ]

    static let notification: [ForeignKey] =
        ["alert", "actions", "interactive", "extra"].map { ForeignKey($0, .notSent, "an ordinary notification") }
        + ["android", "amazon", "web", "email", "sms", "mms", "wns", "open::"].map {
            ForeignKey($0, .notSent, "another platform")
        }

    static let ios: [ForeignKey] = [
        "alert", "actions", "badge", "category", "collapse_id", "content_available", "content-available", "expiry",
        "extra", "filter_criteria", "interactive", "interruption_level", "localizations", "media_attachment",
        "mutable_content", "mutable-content", "priority", "relevance_score", "relevance-score", "sound", "subtitle",
        "target_content_id", "template", "thread_id", "title",
    ].map { ForeignKey($0, .notSent, "an ordinary notification") }

    static let android: [ForeignKey] = [
        "alert", "actions", "category", "extra", "icon", "icon_color", "interactive", "local_only", "localizations",
        "notification_channel", "notification_tag", "priority", "public_notification", "sound", "style", "summary",
        "template", "title", "visibility", "wearable",
    ].map { ForeignKey($0, .notSent, "an ordinary notification") }

    private static let templateKeys = ["global_attributes", "feed_references", "feeds", "snippet_references"]

    /// Whether Airship would fill in templates for this push, even if `options.personalization` is absent.
    static func fillInTemplates(_ push: JSONObject, _ notification: JSONObject) -> Bool {
        templateKeys.contains { push[$0]?.asksForSomething == true }
            || notification.members.contains { (try? $0.value.object())?["template"]?.asksForSomething == true }
    }
}
