import LiveActivity
import StrictJSON

/// `alert`: {title, body, sound}. Title and body are text, or a key of the app's strings with arguments.
enum AlertBody {
    /// Returns the object as written, after checking that it is well-formed.
    static func parse(_ value: JSONValue, warnings: inout [String]) throws(JSONError) -> RawJSON {
        let alert = try value.object(known: ["title", "body", "sound"])
        for text in ["title", "body"].compactMap({ alert[$0] }) { try check(text) }
        if let sound = alert["sound"] { _ = try sound.string() }
        // An empty text is two bytes long: its quotes.
        if (alert["title"]?.raw.count ?? 0) <= 2 {
            warnings.append("\(value.path) has no title: ActivityKit ignores such an alert, its sound too")
        }
        return RawJSON(checked: Array(value.raw))
    }

    private static func check(_ value: JSONValue) throws(JSONError) {
        switch value.kind {
        case .string: break
        case .object:
            let localized = try value.object(known: ["loc-key", "loc-args"])
            _ = try localized.required("loc-key").string()
            guard let arguments = localized["loc-args"] else { return }
            for argument in try arguments.array() { _ = try argument.string() }
        default: throw value.mismatch("a string, or an object with `loc-key` and `loc-args`")
        }
    }
}
