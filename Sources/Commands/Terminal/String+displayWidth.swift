extension String {
    /// How many columns of a terminal the text takes: two for each wide character of East Asia and each emoji, none for
    /// a mark on the character before. A sequence that many terminals join into one emoji counts each of its parts, so
    /// that a line is never wider than it was measured.
    var displayWidth: Int {
        if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
        var width = 0
        var last: Unicode.Scalar?
        for scalar in unicodeScalars {
            // The selector turns a sign such as a heart into an emoji.
            if scalar.value == 0xFE0F, let last, last.properties.isEmoji, last.displayWidth == 1 {
                width += 1
            } else {
                width += scalar.displayWidth
            }
            last = scalar
        }
        return width
    }

    /// The text with spaces before or behind it, in at least so many columns.
    func padded(to width: Int, isRight: Bool) -> String {
        let padding = String(repeating: " ", count: max(0, width - displayWidth))
        return isRight ? padding + self : self + padding
    }

    /// The text, or its beginning with `…`, in at most so many columns.
    func cut(to width: Int) -> String {
        guard displayWidth > width else { return self }
        var text = ""
        var used = 1
        for character in self {
            used += String(character).displayWidth
            guard used <= width else { break }
            text.append(character)
        }
        return text + "…"
    }
}

extension String {
    /// The text in lines of at most so many columns, broken at spaces. The lines behind the first are indented.
    func wrapped(to width: Int, indent: Int) -> [String] {
        var lines = [""]
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            let line = lines[lines.count - 1]
            let longer = line.isEmpty ? String(word) : "\(line) \(word)"
            if longer.displayWidth <= width || line.isEmpty {
                lines[lines.count - 1] = longer
            } else {
                lines.append(String(repeating: " ", count: indent) + word)
            }
        }
        return lines
    }
}

extension Unicode.Scalar {
    /// Wide and full-width characters of UAX 11, in whole blocks. Emoji are found by their property.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2329...0x232A, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
        0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x16FE0...0x18DFF,
        0x1AFF0...0x1B2FF, 0x1F200...0x1F265, 0x20000...0x3FFFD,
    ]
    /// Vowels and final consonants that join the Korean syllable before them.
    private static let joining: [ClosedRange<UInt32>] = [0x1160...0x11FF, 0xD7B0...0xD7FF]

    fileprivate var displayWidth: Int {
        if value < 0x300 { return 1 }
        // Two regional indicators are one flag.
        if (0x1F1E6...0x1F1FF).contains(value) { return 1 }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        if Self.joining.contains(where: { $0.contains(value) }) { return 0 }
        let isWide = properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) }
        return isWide ? 2 : 1
    }
}
