import LiveActivity
import StrictJSON

/// One key of another service's pushes that Lamplighter does not act on.
struct ForeignKey: Sendable, Hashable {
    enum Treatment: String, Sendable, Hashable {
        /// Accepted without a warning, because every push here already does what the key asks for.
        case granted = "accepted"
        /// Accepted without effect. A warning says so.
        case ignored = "accepted with a warning"
        /// Belongs to other kinds of messages or other platforms. A warning says so.
        case notSent = "not sent, with a warning"
        /// Refused with a 400, because ignoring the key would do harm.
        case refused = "400"
    }

    let name: String
    let treatment: Treatment
    /// The text that follows the path: "has no effect: …" in a warning, or the sentence of the 400.
    let reason: String

    init(_ name: String, _ treatment: Treatment, _ reason: String) {
        self.name = name
        self.treatment = treatment
        self.reason = reason
    }

    static let notSentReason = "is not sent: Lamplighter sends Live Activities only"

    /// Checks the keys of an object beside `own`, and warns of each key that is accepted without effect.
    static func check(
        _ object: JSONObject, own: [String], _ rows: [ForeignKey], warnings: inout [String]
    ) throws(JSONError) {
        for (key, value) in object.members where !own.contains(key) {
            // A platform's name follows `open::`.
            let row = rows.first { $0.name == key || $0.name.hasSuffix("::") && key.rest(behind: $0.name) != nil }
            guard let row else {
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
}

extension JSONValue {
    /// False for `false` and `null`, which clients that write every field of their model send for unused fields.
    var asksForSomething: Bool { kind == .bool ? raw.first == UInt8(ascii: "t") : kind != .null }
}
