enum PEMLabel {
    /// The label of the first `-----BEGIN label-----`; nil when there is none.
    static func first(in pem: [UInt8]) -> String? {
        let begin = Array("-----BEGIN ".utf8)
        guard pem.count > begin.count else { return nil }
        for start in 0..<(pem.count - begin.count) where pem[start..<(start + begin.count)].elementsEqual(begin) {
            let label = pem[(start + begin.count)...].prefix(40).prefix { $0 != UInt8(ascii: "-") && $0 >= 0x20 }
            return String(decoding: label, as: UTF8.self)
        }
        return nil
    }
}
