import Foundation
import LiveActivity
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// Tests every key that Airship's published specification allows in a push. Source: urbanairship/api-specs,
/// go/spec.yaml, 20 August 2026.
@Suite struct AirshipKeyTests {
    @Test(arguments: [
        (#"{"AND":[{"tag":"a"},{"OR":[{"tag":"b"},{"NOT":{"named_user":"u"}}]}]}"#, true),
        (#"{"and":[{"tag":"a"},{"or":[{"tag":"b"},{"not":{"named_user":"u"}}]}]}"#, true),
        (#""ALL""#, false),
    ])
    func `compound selectors are read in capitals too`(audience: String, isCompound: Bool) throws {
        let push = try parse(publishText(audience: audience))
        let wanted = Audience.and([
            .tag("a", group: "device"), .or([.tag("b", group: "device"), .not(.namedUser("u"))]),
        ])
        #expect(push.publish.audience == (isCompound ? wanted : .all) && push.warnings.isEmpty)
    }

    @Test(arguments: [
        (#"{"or":[{"tag":"a"},{"android_channel":"x"}]}"#, Audience.or([tag]), "android_channel matches nobody"),
        (#"{"OR":[{"sms_id":{"msisdn":"1","sender":"2"}},{"tag":"a"},{"sms_id":{}}]}"#, .or([tag]), "sms_id matches"),
        (#"{"and":[{"tag":"a"},{"amazon_channel":["x","y"]}]}"#, .or([]), "the whole audience matches nobody"),
        (#"{"or":[{"open_channel":"x"},{"email":"e"}]}"#, .or([]), "open_channel, email matches nobody"),
        (
            #"{"and":[{"tag":"a"},{"not":{"android_channel":"x"}}]}"#, .and([tag, .all]),
            "`not` of it matches everybody"
        ),
        (#"{"not":{"android_channel":"x"}}"#, .all, #"the whole audience is "all""#),
        (#"{"or":[{"tag":"a"},{"not":{"and":[{"tag":"b"},{"wns":"x"}]}}]}"#, .all, #"the whole audience is "all""#),
    ])
    func `a selector of another platform matches nobody inside a compound`(
        audience: String, wanted: Audience, warning: String
    ) throws {
        let push = try parse(publishText(audience: audience))
        #expect(push.publish.audience == wanted)
        #expect(push.warnings.count == 1 && push.warnings[0].contains(warning), "\(push.warnings)")
        // The audience is the same after it was stored in Redis.
        #expect(Audience(encoded: push.publish.audience.encoded) == wanted)
    }

    @Test(arguments: [
        "android_channel", "amazon_channel", "open_channel", "sms_id", "sms_sender", "msisdn", "email", "email_address",
        "apid", "wns",
    ])
    func `a selector of another platform alone is refused`(key: String) throws {
        let error = try refusal(publishText(audience: #"{"\#(key)":"x"}"#))
        #expect(error.status == 400 && error.details?.path == "audience.\(key)")
        #expect(error.message.contains("another platform"), "\(error.message)")
    }

    @Test(arguments: [
        "segment", "static_list", "subscription_list", "subscription_lists", "attribute", "activity", "location",
        "triggered", "alias", "device_token",
    ])
    func `a selector by what is not kept here is refused, inside a compound too`(key: String) throws {
        for (audience, path) in [
            (#"{"\#(key)":"x"}"#, "audience.\(key)"),
            (#"{"OR":[{"tag":"a"},{"\#(key)":"x"}]}"#, "audience.OR[1].\(key)"),
        ] {
            let error = try refusal(publishText(audience: audience))
            #expect(error.details?.path == path && error.message.contains("does not serve"), "\(error.message)")
        }
    }

    @Test func `every key of the specification is known by name`() throws {
        let places: [(rows: [ForeignKey], path: String, text: (String) -> String)] = [
            (AirshipPush.keys, "", { publishText(tail: ",\($0)") }),
            (AirshipPush.options, "options.", { publishText(tail: #","options":{\#($0)}"#) }),
            (
                AirshipPush.notification, "notification.",
                { publishText(tail: "").replacing(#""notification":{"#, with: #""notification":{\#($0),"#) }
            ),
            (
                AirshipPush.ios, "notification.ios.",
                { publishText(tail: "").replacing(#"{"ios":{"#, with: #"{"ios":{\#($0),"#) }
            ),
        ]
        for (rows, path, text) in places {
            for row in rows {
                let name = row.name.hasSuffix("::") ? row.name + "toaster" : row.name
                let body = text(#""\#(name)":{"x":1}"#)
                switch row.treatment {
                case .refused:
                    let error = try refusal(body)
                    #expect(error.details?.path == path + name && error.message.contains(row.reason))
                case .granted: #expect(try parse(body).warnings.isEmpty, "\(name)")
                case .ignored, .notSent:
                    let warnings = try parse(body).warnings
                    #expect(warnings.count == 1 && warnings[0].contains(name), "\(name): \(warnings)")
                }
                // A client that does not use the key gets no warning.
                for unused in ["null", "false"] {
                    #expect(try parse(text(#""\#(name)":\#(unused)"#)).warnings.isEmpty, "\(name): \(unused)")
                }
            }
        }
    }

    /// The lists of the specification: `pushObject`, `pushOptions`, `notificationObject`, `iosOverrideObject`.
    @Test func `the specification's own lists are covered`() {
        #expect(
            missing(
                "audience campaigns device_types feed_references global_attributes in_app localizations message "
                    + "message_type notification options orchestration snippet_references",
                AirshipPush.keys, ["audience", "device_types", "notification", "options"]
            ).isEmpty)
        #expect(
            missing(
                "audience_limits ban_list_parameters bypass_ban_list_processing bypass_frequency_limits "
                    + "bypass_holdout_groups expiry no_throttle omit_from_activity_log personalization redact_payload "
                    + "use_strict_sms_validation", AirshipPush.options, ["expiry"]
            ).isEmpty)
        #expect(
            missing(
                "actions alert amazon android email interactive ios mms open:: sms web", AirshipPush.notification,
                ["ios"]
            ).isEmpty)
        #expect(
            missing(
                "actions alert badge category collapse_id content_available expiry extra filter_criteria interactive "
                    + "interruption_level live_activity media_attachment mutable_content priority relevance_score sound "
                    + "subtitle target_content_id thread_id title template", AirshipPush.ios, ["live_activity"]
            ).isEmpty)
    }

    /// The table knows more than the lists: examples of the specification, older clients and other platforms use these.
    @Test func `keys beside the specification's lists are known too`() {
        #expect(missing("actions feeds trace", AirshipPush.keys, []).isEmpty)
        #expect(missing("extra wns", AirshipPush.notification, []).isEmpty)
        #expect(
            missing("content-available localizations mutable-content relevance-score", AirshipPush.ios, []).isEmpty)
    }

    @Test func `the feature's page has the rows of the table`() throws {
        let lines = try Repository.text("docs/features/airship-sdk.md").split(separator: "\n")
        let all = [
            AirshipPush.keys, AirshipPush.options, AirshipPush.notification, AirshipPush.ios, AirshipPush.android,
        ]
        for row in all.joined() {
            let name = row.name.hasSuffix("::") ? "\(row.name)…" : row.name
            #expect(
                lines.contains { $0.hasPrefix("|") && $0.contains("`\(name)`") && $0.contains(row.treatment.rawValue) },
                "no row for `\(name)`: \(row.treatment.rawValue)")
        }
    }

    @Test(arguments: [
        #","options":{"personalization":true}"#, #","global_attributes":{"name":"Ada"}"#,
        #","feed_references":{"feeds":[]}"#, #","snippet_references":{"snippets":[]}"#,
    ])
    func `templates never light a lock screen`(tail: String) throws {
        let error = try refusal(publishText(activity: Self.braces, tail: tail))
        #expect(error.status == 400 && error.message.contains("fills in no templates"), "\(error.message)")
    }

    @Test func `a template of a platform means templates, too`() throws {
        let text = publishText(activity: Self.braces)
            .replacing(#""notification":{"#, with: #""notification":{"android":{"template":{}},"#)
        #expect(try refusal(text).message.contains("fills in no templates"))
    }

    @Test func `braces without the option are warned of`() throws {
        let warnings = try parse(publishText(activity: Self.braces)).warnings
        #expect(warnings.count == 2, "\(warnings)")
        #expect(warnings.allSatisfy { $0.contains("holds `{{`, which devices show as it is") })
        let off = try parse(publishText(activity: Self.braces, tail: #","options":{"personalization":false}"#))
        #expect(off.warnings == warnings)
        #expect(try parse(publishText()).warnings.isEmpty)
    }

    @Test(arguments: [
        (#""{{x}}""#, true), (#""\u007b\u007Bx""#, true), (#""{\u007b""#, true), (#"{"a":[{"b":{}}]}"#, false),
        (#""{ {""#, false), (#""\\u007b\\u007b""#, false), (#""\\{{""#, true), (#""{"#, false), ("", false),
    ])
    func `braces are found however they are written`(text: String, isFound: Bool) {
        #expect(TemplateCheck.contains(Array(text.utf8)[...]) == isFound)
    }

    private static let braces =
        #"{"name":"n","event":"update","content_state":{"s":"Hello {{first_name}}"},"alert":{"title":"{{first_name}}!"}}"#

    private func missing(_ names: String, _ rows: [ForeignKey], _ own: [String]) -> [Substring] {
        names.split(separator: " ").filter { name in !own.contains(String(name)) && !rows.contains { $0.name == name } }
    }

    private func parse(_ text: String) throws -> PublishBody.Push {
        try PublishBody.parse(Array(text.utf8), now: testNow)[0]
    }

    private func refusal(_ text: String) throws -> APIError {
        APIError(try #require(throws: JSONError.self) { try parse(text) })
    }
}

private let tag = Audience.tag("a", group: "device")
