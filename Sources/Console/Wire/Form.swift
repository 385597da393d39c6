import LiveActivity
import StrictJSON

/// The fields of a form or a query, as a browser encodes them. A field is found without a look at the others.
struct Form: Sendable {
    /// The most fields of a form: the boxes of `Bulk.most` rows, and some more. A small form can have very many.
    static let mostFields = 1_200

    /// The name of a field. `Looks` counts the comparisons, so that a test sees a form that looks through its fields.
    private struct Name: Hashable {
        let text: ExactText

        init(_ text: String) { self.text = ExactText(text) }

        static func == (one: Name, other: Name) -> Bool {
            Looks.add(1)
            return one.text == other.text
        }
    }

    /// The names of the fields, in the order in which they first came.
    private var names: [Name] = []
    private var texts: [Name: [String]] = [:]

    init() {}

    /// Parts that are not percent-encoded UTF-8 are left out: no browser sends them.
    init(_ text: some StringProtocol) {
        for pair in text.parts(between: UInt8(ascii: "&")) where !pair.isEmpty {
            let parts = pair.parts(between: UInt8(ascii: "="), atMost: 2)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : "") else {
                continue
            }
            add(name, value)
        }
    }

    /// The body of a request.
    /// - Throws: 413 for more than `mostFields`
    init(_ bytes: [UInt8]) throws(ConsoleFailure) {
        guard bytes.count(where: { $0 == UInt8(ascii: "&") }) < Self.mostFields else {
            throw ConsoleFailure(413, "The form has more than \(Self.mostFields) fields. Send fewer at once.")
        }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    var fields: [(name: String, value: String)] {
        names.flatMap { name in (texts[name] ?? []).map { (name.text.description, $0) } }
    }

    /// Empty if the field is absent.
    subscript(_ name: String) -> String {
        get { texts[Name(name)]?.first ?? "" }
        set {
            if texts.updateValue([newValue], forKey: Name(name)) == nil { names.append(Name(name)) }
        }
    }

    /// Browsers send line ends as CR and LF.
    mutating func add(_ name: String, _ value: String) {
        let hasReturns = value.utf8.contains(UInt8(ascii: "\r"))
        let value = hasReturns ? value.replacing("\r\n", with: "\n") : value
        if texts[Name(name), default: []].isEmpty { names.append(Name(name)) }
        texts[Name(name), default: []].append(value)
    }

    /// The values of all fields with this name, such as checkboxes, each once.
    func values(_ name: String) -> [String] {
        var known: Set<ExactText> = []
        return (texts[Name(name)] ?? []).filter { known.insert(ExactText($0)).inserted }
    }

    /// The value without white space around it. Nil if nothing is left.
    func text(_ name: String) -> String? {
        let text = self[name].trimmed
        return text.isEmpty ? nil : text
    }

    /// A name as it was written: blanks at its ends are of the name. Nil if nothing else is there.
    func name() -> String? { text("name").map { _ in self["name"] } }

    /// A whole number in `range`. Nil if the field is empty or holds anything else. Every number of a form has a range,
    /// because an overflow ends the whole gateway.
    func number(_ name: String, in range: ClosedRange<Int>) -> Int? {
        text(name).flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil }
    }

    func without(_ names: Set<String>) -> Form { only { !names.contains($0) } }

    /// The fields whose names are wanted.
    func only(where isWanted: (String) -> Bool) -> Form {
        var form = Form()
        for name in names where isWanted(name.text.description) {
            form.names.append(name)
            form.texts[name] = texts[name]
        }
        return form
    }

    func has(_ name: String) -> Bool { texts[Name(name)] != nil }

    static func decoded(_ text: some StringProtocol) -> String? {
        text.formDecoded
    }

    /// For one component of a path, or one value of a query.
    static func encoded(_ text: String) -> String { text.urlComponent }

    /// A query of the fields that are not nil.
    static func query(_ fields: KeyValuePairs<String, String?>) -> String {
        let parts = fields.compactMap { name, value in value.map { "\(name)=\(encoded($0))" } }
        return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
    }
}
