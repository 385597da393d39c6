import LiveActivity

/// The templates of the pages. All text that they show is escaped, also where it stands in an attribute.
struct Templates: Sendable {
    private let templates: [String: Template]

    init() {
        var templates: [String: Template] = [:]
        for (name, bytes) in Self.files {
            // A test renders every template, so a wrong one does not get this far.
            do { templates[name] = try Template(bytes) } catch { preconditionFailure("template \(name): \(error)") }
        }
        self.templates = templates
    }

    func render(_ name: String, _ values: [String: Any]) -> String {
        guard let template = templates[name] else { preconditionFailure("no template \(name)") }
        return template.render(values) { templates[$0] }
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
        ("schedules", PackageResources.schedules_mustache), ("approval", PackageResources.approval_mustache),
        ("dead", PackageResources.dead_mustache),
        ("quarantine", PackageResources.quarantine_mustache), ("broadcasts", PackageResources.broadcasts_mustache),
        ("confirm", PackageResources.confirm_mustache), ("message", PackageResources.message_mustache),
        ("actions", PackageResources.actions_mustache), ("templates", PackageResources.templates_mustache),
        ("compose-name", PackageResources.compose_name_mustache),
        ("compose-parts", PackageResources.compose_parts_mustache),
        ("name-options", PackageResources.name_options_mustache), ("strip", PackageResources.strip_mustache),
        ("alarms", PackageResources.alarms_mustache),
        ("numbers", PackageResources.numbers_mustache), ("chart", PackageResources.chart_mustache),
        ("pager", PackageResources.pager_mustache),
        ("bulk", PackageResources.bulk_mustache), ("bulk-done", PackageResources.bulk_done_mustache),
        ("followers", PackageResources.followers_mustache), ("sketches", PackageResources.sketches_mustache),
        ("sketch-part", PackageResources.sketch_part_mustache),
        ("test-devices", PackageResources.test_devices_mustache),
        ("credentials", PackageResources.credentials_mustache),
        ("credential-secret", PackageResources.credential_secret_mustache),
        ("credential-rotate", PackageResources.credential_rotate_mustache),
        ("schemas", PackageResources.schemas_mustache), ("schema", PackageResources.schema_mustache),
        ("events", PackageResources.events_mustache), ("settings", PackageResources.settings_mustache),
    ]
}

/// Text of others as it may stand in an element or an attribute.
enum HTMLText {
    /// The same for a place that a reader sees, with marks for hidden characters: `⟨U+200B⟩`.
    static func mark(_ text: String, into output: inout [UInt8]) {
        guard text.unicodeScalars.contains(where: isMarked) else { return escape(text, into: &output) }
        for scalar in text.unicodeScalars {
            let code = String(scalar.value, radix: 16, uppercase: true)
            escape(isMarked(scalar) ? "⟨U+\(code)⟩" : String(scalar), into: &output)
        }
    }

    private static func isMarked(_ scalar: Unicode.Scalar) -> Bool { scalar.value >= 0x7F && scalar.isHidden }

    static func escape(_ text: String, into output: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): output += "&lt;".utf8
            case UInt8(ascii: ">"): output += "&gt;".utf8
            case UInt8(ascii: "&"): output += "&amp;".utf8
            case UInt8(ascii: "\""): output += "&quot;".utf8
            case UInt8(ascii: "'"): output += "&#39;".utf8
            case UInt8(ascii: "`"): output += "&#96;".utf8
            default: output.append(byte)
            }
        }
    }
}
