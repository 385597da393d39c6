import LiveActivity
import StrictJSON

/// A content state as text, member by member. A value that nobody changes stays as it was written: numbers keep their
/// digits.
struct StateText {
    private(set) var members: [(key: String, text: String)]

    /// Nil: the text is no object.
    init?(_ text: String) {
        let text = text.trimmed
        guard let object = try? JSONDocument(text.isEmpty ? "{}" : text).root.object() else { return nil }
        members = object.members.map { ($0.key, JSONLayout.lines($0.value, indent: "  ")) }
    }

    init(_ state: JSONValue?) {
        members = ((try? state?.object())?.members ?? []).map { ($0.key, JSONLayout.lines($0.value, indent: "  ")) }
    }

    /// The value of a member as JSON. Nil: it has none.
    subscript(_ key: String) -> String? {
        get { members.last { haveSameBytes($0.key, key) }?.text }
        set {
            let place = members.lastIndex { haveSameBytes($0.key, key) }
            switch (place, newValue) {
            case (let place?, let value?): members[place].text = value
            case (let place?, nil): members.remove(at: place)
            case (nil, let value?): members.append((key, value))
            case (nil, nil): break
            }
        }
    }

    var text: String {
        guard !members.isEmpty else { return "{}" }
        return "{\n" + members.map { "  \(JSON.string($0.key).text): \($0.text)" }.joined(separator: ",\n") + "\n}"
    }

    /// The members that differ from another state, each with its value there and here.
    func changes(from other: StateText) -> [(key: String, before: String?, after: String?)] {
        var keys = members.map(\.key)
        for (key, _) in other.members where self[key] == nil { keys.append(key) }
        return keys.compactMap { other[$0] == self[$0] ? nil : ($0, other[$0], self[$0]) }
    }

    /// A value for people: a text without its quotation marks.
    static func shown(_ value: String?) -> String {
        guard let value else { return "–" }
        return (try? JSONDocument(value).root.string()) ?? value
    }
}
