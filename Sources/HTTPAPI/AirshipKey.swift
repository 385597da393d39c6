import LiveActivity
import StrictJSON

/// One key of Airship's published specification that Lamplighter does not act on. The rows are in `AirshipKey+rows.swift`;
/// docs/api.md shows the same rows, and a test compares them.
struct AirshipKey: Sendable, Hashable {
    enum Treatment: String, Sendable, Hashable {
        /// Accepted without a warning: what it asks for is true of every push here.
        case granted = "accepted"
        /// Accepted, has no effect: a warning says so.
        case ignored = "accepted with a warning"
        /// Belongs to other kinds of messages or other platforms: a warning says so.
        case notSent = "not sent, with a warning"
        /// 400, because ignoring it would do harm.
        case refused = "400"
    }

    let name: String
    let treatment: Treatment
    /// Follows the path: "has no effect: …" of the warning, or the sentence of the 400.
    let reason: String

    init(_ name: String, _ treatment: Treatment, _ reason: String) {
        self.name = name
        self.treatment = treatment
        self.reason = reason
    }

    static let notSentReason = "is not sent: Lamplighter sends Live Activities only"

    /// Refuses keys that neither Lamplighter (`own`) nor Airship knows, and those that must not be ignored. Warns of the rest.
    static func check(
        _ object: JSONObject, own: [String], _ rows: [AirshipKey], warnings: inout [String]
    ) throws(JSONError) {
        for (key, value) in object.members where !own.contains(key) {
            guard let row = rows.first(where: { $0.name == key || ($0.isPrefix && key.rest(behind: $0.name) != nil) })
            else {
                try object.refuseUnknownKeys(known: own + rows.map(\.name))
                continue
            }
            guard value.asksForSomething else { continue }
            switch row.treatment {
            case .granted: break
            case .ignored: warnings.append("\(value.path) has no effect: \(row.reason)")
            case .notSent: warnings.append("\(value.path) \(notSentReason)")
            case .refused: throw value.error(row.reason)
            }
        }
    }

    /// `open::` is followed by a platform's name.
    private var isPrefix: Bool { name.hasSuffix("::") }
}

extension JSONValue {
    /// Clients that write every field of their model send `false` or `null` for what they do not use.
    var asksForSomething: Bool {
        switch kind {
        case .null: false
        case .bool: raw.first == UInt8(ascii: "t")
        case .object, .array, .string, .number: true
        }
    }
}
