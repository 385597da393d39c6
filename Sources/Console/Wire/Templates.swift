import Mustache

/// The templates of the pages. All text that they show is escaped, also where it stands in an attribute.
struct Templates: Sendable {
    private static let type = "CONSOLE"
    private let library: MustacheLibrary

    init() {
        MustacheContentTypes.register(HTMLText(), named: Self.type)
        var library = MustacheLibrary()
        for (name, bytes) in Self.files {
            let text = "{{% CONTENT_TYPE: \(Self.type)}}\n" + String(decoding: bytes, as: UTF8.self)
            // A test renders every template, so a wrong one does not get this far.
            do { try library.register(text, named: name) } catch { preconditionFailure("template \(name): \(error)") }
        }
        self.library = library
    }

    func render(_ name: String, _ values: [String: Any]) -> String {
        guard let text = library.render(values, withTemplate: name) else { preconditionFailure("no template \(name)") }
        return text
    }

    static var names: [String] { files.map(\.0) }

    private static let files: [(String, [UInt8])] = [
        ("page", PackageResources.page_mustache), ("sign-in", PackageResources.sign_in_mustache),
        ("home", PackageResources.home_mustache), ("home-live", PackageResources.home_live_mustache),
        ("pushes", PackageResources.pushes_mustache), ("push-rows", PackageResources.push_rows_mustache),
        ("push", PackageResources.push_mustache), ("push-live", PackageResources.push_live_mustache),
        ("bar", PackageResources.bar_mustache), ("card", PackageResources.card_mustache),
        ("names", PackageResources.names_mustache), ("name", PackageResources.name_mustache),
        ("compose", PackageResources.compose_mustache), ("check", PackageResources.check_mustache),
        ("publish", PackageResources.publish_mustache), ("devices", PackageResources.devices_mustache),
        ("device", PackageResources.device_mustache), ("explain", PackageResources.explain_mustache),
        ("schedules", PackageResources.schedules_mustache), ("dead", PackageResources.dead_mustache),
        ("quarantine", PackageResources.quarantine_mustache), ("broadcasts", PackageResources.broadcasts_mustache),
        ("confirm", PackageResources.confirm_mustache), ("message", PackageResources.message_mustache),
        ("actions", PackageResources.actions_mustache), ("templates", PackageResources.templates_mustache),
        ("pager", PackageResources.pager_mustache), ("some-names", PackageResources.some_names_mustache),
    ]
}

/// Escapes byte by byte. The library's own type compares whole characters, so a quotation mark with a combining
/// accent behind it would end an attribute.
struct HTMLText: MustacheContentType {
    func escapeText(_ text: String) -> String {
        var out: [UInt8] = []
        out.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): out += "&lt;".utf8
            case UInt8(ascii: ">"): out += "&gt;".utf8
            case UInt8(ascii: "&"): out += "&amp;".utf8
            case UInt8(ascii: "\""): out += "&quot;".utf8
            case UInt8(ascii: "'"): out += "&#39;".utf8
            case UInt8(ascii: "`"): out += "&#96;".utf8
            default: out.append(byte)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
