public import StrictJSON

/// A drawing of an attributes type's card, as its developer describes it: rows and columns of texts, symbols, bars and
/// timers with values of the content state. It has words for looks and no markup, so that nothing of it can be more
/// than text on a page.
public struct Sketch: Sendable {
    /// The value of a field, or text beside it.
    enum Piece: Sendable, Hashable {
        case text(String)
        case field([String])
    }

    enum Content: Sendable {
        case rows([Part])
        case columns([Part])
        case text([Piece])
        case symbol([Piece])
        /// - Parameter of: the value that is the whole; nil: 1 for a fraction, 100 for more
        case progress([Piece], of: Double?)
        case timer([Piece])
    }

    struct Part: Sendable {
        var content: Content
        /// Classes of the style sheet, from `looks` alone.
        var look: [String]
    }

    public static let maximumBytes = 16 << 10
    private static let (mostParts, mostDepth, mostSiblings, mostTextBytes, mostFields) = (100, 6, 12, 200, 10)
    static let colours = [
        "primary", "secondary", "white", "black", "gray", "red", "orange", "yellow", "green", "mint", "teal", "blue",
        "indigo", "purple", "pink", "brown",
    ]
    private static let looks: [(key: String, words: [String])] = [
        ("color", colours), ("size", ["small", "body", "title", "large"]), ("weight", ["regular", "bold"]),
        ("align", ["leading", "center", "trailing"]),
    ]
    private static let kinds = ["rows", "columns", "text", "symbol", "progress", "timer"]

    let card: Part
    let leading: Part?
    let trailing: Part?
    let background: String?

    /// - Throws: the first mistake with its place
    public init(_ value: JSONValue) throws(JSONError) {
        let body = try value.object(known: ["card", "leading", "trailing", "background"])
        var left = Self.mostParts
        card = try Self.part(body.required("card"), depth: 1, &left)
        leading = try body["leading"].map { value throws(JSONError) in try Self.piece(value, &left) }
        trailing = try body["trailing"].map { value throws(JSONError) in try Self.piece(value, &left) }
        background = try body["background"].map { value throws(JSONError) in try Self.word(value, Self.colours) }
    }

    /// A part of the Dynamic Island, which has room for one thing.
    private static func piece(_ value: JSONValue, _ left: inout Int) throws(JSONError) -> Part {
        let part = try part(value, depth: mostDepth, &left)
        switch part.content {
        case .text, .symbol: return part
        default: throw value.error("must have text or symbol")
        }
    }

    private static func part(_ value: JSONValue, depth: Int, _ left: inout Int) throws(JSONError) -> Part {
        left -= 1
        guard left >= 0 else { throw value.error("is one part too many: a sketch has at most \(mostParts)") }
        let object = try value.object(known: kinds + looks.map(\.key) + ["of"])
        let given = kinds.filter { object[$0] != nil }
        guard given.count == 1, let kind = given.first, let inner = object[kind] else {
            throw value.error("must have exactly one of \(kinds.joined(separator: ", "))")
        }
        var look: [String] = []
        for (key, words) in looks { if let word = object[key] { look.append("s-\(try Self.word(word, words))") } }
        if let of = object["of"], kind != "progress" { throw of.error("belongs to progress") }
        return Part(content: try content(kind, inner, object, depth: depth, &left), look: look)
    }

    private static func content(
        _ kind: String, _ value: JSONValue, _ object: JSONObject, depth: Int, _ left: inout Int
    ) throws(JSONError) -> Content {
        switch kind {
        case "rows", "columns":
            let values = try value.array()
            guard depth < mostDepth else { throw value.error("is nested too deeply: at most \(mostDepth) levels") }
            guard (1...mostSiblings).contains(values.count) else {
                throw value.error("must hold 1 to \(mostSiblings) parts, not \(values.count)")
            }
            var parts: [Part] = []
            for value in values { parts.append(try part(value, depth: depth + 1, &left)) }
            return kind == "rows" ? .rows(parts) : .columns(parts)
        case "text": return .text(try pieces(value))
        case "symbol": return .symbol(try pieces(value))
        case "timer": return .timer(try pieces(value))
        default:
            let of = try object["of"].map { of throws(JSONError) in
                let whole = try of.double()
                guard whole > 0 else { throw of.error("must be greater than 0") }
                return whole
            }
            return .progress(try pieces(value), of: of)
        }
    }

    private static func word(_ value: JSONValue, _ words: [String]) throws(JSONError) -> String {
        let text = try value.string()
        guard words.contains(text) else { throw value.error("must be one of \(words.joined(separator: ", "))") }
        return text
    }

    /// `{home} : {away}`, with `{{` for a brace.
    private static func pieces(_ value: JSONValue) throws(JSONError) -> [Piece] {
        let text = try value.string()
        guard text.utf8.count <= mostTextBytes else {
            throw value.error("must have at most \(mostTextBytes) bytes, not \(text.utf8.count)")
        }
        var pieces: [Piece] = []
        var plain: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "{") else {
                plain.append(byte)
                continue
            }
            if rest.first == byte {
                plain.append(rest.removeFirst())
                continue
            }
            guard let end = rest.firstIndex(of: UInt8(ascii: "}")) else {
                throw value.error("has a { without its }; {{ is a plain brace")
            }
            let names = rest[..<end].split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            guard names.allSatisfy({ !$0.isEmpty }) else {
                throw value.error("has no name of a field in its braces, such as {score} or {home.goals}")
            }
            if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
            plain = []
            pieces.append(.field(names.map { String(decoding: $0, as: UTF8.self) }))
            rest = rest[(end + 1)...]
        }
        if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
        let fields = pieces.count { if case .field = $0 { true } else { false } }
        guard fields <= mostFields else { throw value.error("has \(fields) fields: at most \(mostFields)") }
        return pieces
    }
}
