import StrictJSON

/// An audience in words.
enum AudienceText {
    /// - Parameter event: a start makes cards, so it is not for devices that have one
    static func text(_ value: JSONValue, of event: String) -> String {
        guard (try? value.string()) == "all" else { return text(value) }
        return event == "start" ? "everyone with a start token" : "everyone who follows"
    }

    private static func text(_ value: JSONValue) -> String {
        if (try? value.string()) == "all" { return "everyone" }
        guard let object = try? value.object() else { return value.text }
        if let tag = object.text("tag") {
            return "devices with the tag \(tag) of the group \(object.text("group") ?? "device")"
        }
        if let channel = object.text("ios_channel") { return "the device \(channel)" }
        if let user = object.text("named_user") { return "the devices of \(user)" }
        func joined(_ key: String, _ word: String) -> String? {
            object[key].flatMap { try? $0.array() }.map { "(\($0.map(text).joined(separator: " \(word) ")))" }
        }
        return joined("or", "or") ?? joined("and", "and") ?? object["not"].map { "all but \(text($0))" } ?? value.text
    }
}
