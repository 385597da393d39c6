/// A part of the deployment on Home, and whether it works.
struct Lamp: Sendable {
    /// Nil: the app does not have the part.
    typealias Finder = @Sendable (Visit) async throws -> Lamp?

    var title: String
    var isOn: Bool
    var text: String
    /// The words of the link to its page.
    var hint: String

    /// The lamps of features.
    static func all(_ visit: Visit) async throws -> [Values] {
        var found: [Values] = []
        for entry in MenuEntry.ofFeatures {
            guard let find = entry.lamp, let lamp = try await visit.allowed({ try await find(visit) }) else { continue }
            found.append(
                values([
                    "title": lamp.title, "isOff": lamp.isOn ? nil : true, "text": lamp.text, "hint": lamp.hint,
                    "path": entry.path,
                ]))
        }
        return found
    }
}
