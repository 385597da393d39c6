/// Builds paths for error messages, such as `notification.ios.live_activity` or `[1].audience.or[0]`.
enum JSONPath {
    /// The longest part of a key that a path shows, because a hostile key must not make the response long.
    static let longestKey = 64

    static func path(of number: Int, nodes: [JSONIndex.Node], bytes: [UInt8]) -> String {
        var chain: [Int] = []
        var current = number
        while current > 0 {
            chain.append(current)
            current = Int(nodes[current].parent)
        }
        var path = ""
        for number in chain.reversed() {
            let node = nodes[number]
            let key = Int(node.keyStart)..<Int(node.keyEnd)
            path = node.keyStart < 0 ? "\(path)[\(node.position)]" : join(path, JSONText.decode(bytes[key]))
        }
        return path
    }

    static func join(_ path: String, _ key: String) -> String {
        let isPlain = !key.isEmpty && key.utf8.count <= longestKey && key.utf8.allSatisfy(isPlainByte)
        if isPlain { return path.isEmpty ? key : "\(path).\(key)" }
        let shown = key.unicodeScalars.count > longestKey ? String(key.unicodeScalars.prefix(longestKey)) + "…" : key
        return "\(path)[\(JSON.string(shown).text)]"
    }

    private static func isPlainByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}

extension Collection<String> {
    /// The element with the fewest edits from `word`, nil if there are too many. A word that is cut off is one edit.
    public func nearest(to word: String) -> String? { nearest(to: word, atMost: 1).first }
    /// The end of an error that suggests the nearest element. Empty if none is near.
    public func suggestion(for word: String) -> String { nearest(to: word).map { "; did you mean `\($0)`?" } ?? "" }

    /// The nearest elements, the best first.
    public func nearest(to word: String, atMost count: Int) -> [String] {
        guard word.utf8.count <= 64 else { return [] }
        let typed = word.lowercased()
        let allowed = Swift.max(2, word.utf8.count / 3)
        var ranked: [(word: String, distance: Int)] = []
        for known in self {
            let isCut = typed.utf8.count > 2 && known.utf8.starts(with: typed.utf8)
            // A larger difference in length cannot be near.
            guard isCut || abs(known.utf8.count - typed.utf8.count) <= allowed else { continue }
            let distance = isCut ? 1 : editDistance(known.lowercased(), typed)
            if distance <= allowed { ranked.append((known, distance)) }
        }
        // Equally near elements keep their order.
        let order = ranked.indices.sorted { (ranked[$0].distance, $0) < (ranked[$1].distance, $1) }
        return order.prefix(count).map { ranked[$0].word }
    }
}

/// How many edits (insert, delete, replace, swap of neighbours) turn one short word into the other.
private func editDistance(_ left: String, _ right: String) -> Int {
    let a = Array(left.utf8)
    let b = Array(right.utf8)
    var rows: [[Int]] = [Array(0...b.count)]
    for i in 0..<a.count {
        var row = [i + 1]
        for j in 0..<b.count {
            var best = Swift.min(rows[i][j] + (a[i] == b[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = Swift.min(best, rows[i - 1][j - 1] + 1) }
            row.append(best)
        }
        rows.append(row)
    }
    return rows[a.count][b.count]
}
