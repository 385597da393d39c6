/// Reads and writes values as people write them.
enum SettingText {
    static func seconds(_ value: Double) -> String {
        value < 1 && value > 0 ? "\(Int(value * 1_000))ms" : "\(Int(value))s"
    }

    /// Reads `65536`, `64K` or `1M` as bytes.
    static func size(_ text: String) -> Int? {
        for (suffix, factor) in [("K", 1 << 10), ("M", 1 << 20)] where text.uppercased().hasSuffix(suffix) {
            guard let count = Int(text.dropLast()), count >= 0, count <= Int.max / factor else { return nil }
            return count * factor
        }
        return Int(text)
    }
}
