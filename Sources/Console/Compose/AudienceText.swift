import Answers
import LiveActivity
import StrictJSON

/// An audience in words.
enum AudienceText {
    /// The audience of a push as somebody posted it.
    /// - Parameters:
    ///   - event: a start makes cards, so it is not for devices that have one
    ///   - app: the platforms of the app
    static func text(_ push: JSONObject, of event: String, in app: Set<Platform>) -> String? {
        let some = PostedPush(push).flatMap { app.isSubset(of: $0.platforms) ? nil : $0.platforms.map(\.name) }
        return push["audience"].map { text($0, of: event, on: some) }
    }

    /// The audience of a push that was sent.
    static func text(_ content: ContentAnswer, of event: String) -> String? {
        content.audience.value.map { text($0, of: event, on: content.deviceTypes) }
    }

    /// - Parameter platforms: nil: all of the app
    private static func text(_ value: JSONValue, of event: String, on platforms: [String]?) -> String {
        let names = platforms?.map { Platform(name: $0).map(Shown.platform) ?? $0 }
        let end = names.map { ", on \($0.joined(separator: " and "))" } ?? ""
        guard (try? value.string()) == "all" else { return text(value) + end }
        return (event == "start" ? "everyone with a start token" : "everyone who follows") + end
    }

    private static func text(_ value: JSONValue) -> String {
        if (try? value.string()) == "all" { return "everyone" }
        guard let object = try? value.object() else { return value.text }
        if let tag = object.text("tag") {
            return "devices with the tag \(tag) of the group \(object.text("group") ?? "device")"
        }
        if let device = device(object) { return "the device \(device)" }
        if let user = object.text("named_user") { return "the devices of \(user)" }
        func joined(_ key: String, _ word: String) -> String? {
            object[key].flatMap { try? $0.array() }.map { "(\($0.map(text).joined(separator: " \(word) ")))" }
        }
        return joined("or", "or") ?? joined("and", "and") ?? object["not"].map { "all but \(text($0))" } ?? value.text
    }

    /// The one device that a selector names.
    static func device(_ selector: JSONObject) -> String? {
        (["channel"] + Platform.all.map { "\($0)_channel" }).compactMap { selector.text($0) }.first
    }
}
