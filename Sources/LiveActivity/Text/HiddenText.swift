extension Unicode.Scalar {
    /// Whether it is invisible: a control, a format character (zero width, direction, tag) or a separator of lines. A
    /// hidden character makes two names look the same, or turns the text behind it round.
    public var isHidden: Bool {
        if value < 0x7F { return value < 0x20 }
        if value < 0xAD { return value < 0xA0 }
        return switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: true
        default: false
        }
    }

    /// The JSON escape: `\u200b`, or two escapes beyond 16 bits.
    public var escaped: String {
        let units = value < 0x10000 ? [value] : [0xD800 + (value - 0x10000) >> 10, 0xDC00 + (value - 0x10000) & 0x3FF]
        return units.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }
}

extension String {
    /// The text with its hidden characters escaped, but for ends of lines and tabs. JSON stays the same JSON.
    public var visible: String {
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
        return unicodeScalars.reduce(into: "") { out, scalar in
            if scalar.isHidden, scalar != "\n", scalar != "\t" {
                out += scalar.escaped
            } else {
                out.unicodeScalars.append(scalar)
            }
        }
    }
}
