import LiveActivity

/// The fields of a form or a query, as a browser encodes them.
struct Form: Sendable {
    private(set) var fields: [(name: String, value: String)] = []

    init() {}

    /// Parts that are not percent-encoded UTF-8 are left out: no browser sends them.
    init(_ text: some StringProtocol) {
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(parts[0]), let value = Self.decoded(parts.count > 1 ? parts[1] : "") else {
                continue
            }
            fields.append((name, value))
        }
    }

    init(_ bytes: [UInt8]) { self.init(String(decoding: bytes, as: UTF8.self)) }

    /// Empty if the field is absent. Browsers send line ends as CR and LF.
    subscript(_ name: String) -> String {
        get {
            (fields.first { $0.name == name }?.value ?? "").replacing("\r\n", with: "\n")
        }
        set {
            fields.removeAll { $0.name == name }
            fields.append((name, newValue))
        }
    }

    mutating func add(_ name: String, _ value: String) { fields.append((name, value)) }

    /// The values of all fields with this name, such as checkboxes, each once.
    func values(_ name: String) -> [String] {
        var known: Set<ExactText> = []
        return fields.filter { $0.name == name }.map(\.value).filter { known.insert(ExactText($0)).inserted }
    }

    /// The value without white space around it. Nil if nothing is left.
    func text(_ name: String) -> String? {
        let text = self[name].trimmed
        return text.isEmpty ? nil : text
    }

    /// A whole number in `range`. Nil if the field is empty or holds anything else. Every number of a form has a range,
    /// because an overflow ends the whole gateway.
    func number(_ name: String, in range: ClosedRange<Int>) -> Int? {
        text(name).flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil }
    }

    func without(_ names: Set<String>) -> Form {
        var form = self
        form.fields.removeAll { names.contains($0.name) }
        return form
    }

    func has(_ name: String) -> Bool { fields.contains { $0.name == name } }

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
