import StrictJSON

/// An audience in words.
enum AudienceText {
    static func text(_ value: JSONValue) -> String {
        if (try? value.string()) == "all" { return "everyone who follows" }
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
