import Answers
import LiveActivity
import Store
import StrictJSON

/// The body of `POST /api/credentials`.
struct CredentialBody {
    static let lives: ClosedRange<Int64> = 1...315_360_000
    var id: String
    var scopes: Set<CredentialScope>
    var namePrefix: String?
    /// Seconds.
    var expiresIn: Int64?

    init(_ body: [UInt8]) throws(JSONError) {
        let root = try JSONDocument(body).root.object(known: ["id", "scopes", "name_prefix", "expires_in"])
        let idValue = try root.required("id")
        id = try idValue.string()
        guard AppCredential.isID(id) else { throw idValue.error("must be \(AppCredential.idRule)") }
        guard !AppCredential.isTaken(id) else { throw idValue.error("is taken: choose another id") }
        let scopesValue = try root.required("scopes")
        scopes = []
        for value in try scopesValue.array() {
            guard let scope = CredentialScope(rawValue: try value.string()) else {
                throw value.error("must be one of \(CredentialScope.words)")
            }
            scopes.insert(scope)
        }
        if scopes.isEmpty { throw scopesValue.error("must have at least one of \(CredentialScope.words)") }
        if let value = root["name_prefix"] { namePrefix = try Self.prefix(value) }
        if let value = root["expires_in"] { expiresIn = try Self.seconds(value, Self.lives) }
    }

    /// The beginning of names. People write `match-*`, because lists show a prefix so.
    private static func prefix(_ value: JSONValue) throws(JSONError) -> String {
        let text = try value.string()
        let star = UInt8(ascii: "*")
        let prefix = text.utf8.last == star ? String(decoding: text.utf8.dropLast(), as: UTF8.self) : text
        // A star inside is meant as a pattern too, and there are none.
        guard !prefix.utf8.contains(star), (try? ActivityName(prefix)) != nil else {
            throw value.error("must be the beginning of a name, such as match- or match-*; no * stands before its end")
        }
        return prefix
    }

    /// Body of a rotation: `{"keep"?}`, for how many seconds the old secret stays valid.
    static func keep(_ body: JSONObject?) throws(JSONError) -> Int64 {
        try (body?["keep"]).map { value throws(JSONError) in try seconds(value, 0...2_592_000) } ?? 86_400
    }

    private static func seconds(_ value: JSONValue, _ range: ClosedRange<Int64>) throws(JSONError) -> Int64 {
        let seconds = try value.integer()
        guard range.contains(seconds) else {
            throw value.error("must be from \(range.lowerBound) to \(range.upperBound) seconds")
        }
        return seconds
    }
}
