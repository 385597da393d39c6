/// Writes names, labels and numbers for the text format.
enum PrometheusName {
    static func name(_ label: String, suffix: String = "") -> String {
        let name = sanitized(label)
        return name.hasSuffix(suffix) ? name : name + suffix
    }

    /// Writes `a="x",b="y"`, in the order of label names, so that equal sets of labels give equal strings.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }.map { "\(sanitized($0.0))=\"\(escaped($0.1))\"" }.joined(separator: ",")
    }

    static func braces(_ labels: String) -> String { labels.isEmpty ? "" : "{\(labels)}" }

    /// Writes whole numbers without a fraction, and others in the shortest form that reads back to the same value.
    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value.rounded() == value && value.magnitude < 1e15 ? "\(Int64(value))" : "\(value)"
    }

    static func escapedHelp(_ text: String) -> String { escaped(text, isQuoted: false) }

    private static func sanitized(_ text: String) -> String {
        var name = String(
            text.unicodeScalars.map { scalar -> Character in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "_": Character(scalar)
                default: "_"
                }
            })
        if name.first?.isNumber ?? true { name = "_" + name }
        return name
    }

    private static func escaped(_ text: String, isQuoted: Bool = true) -> String {
        var out = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": out += #"\\"#
            case "\"" where isQuoted: out += #"\""#
            case "\n": out += #"\n"#
            default: out.unicodeScalars.append(character)
            }
        }
        return out
    }
}
