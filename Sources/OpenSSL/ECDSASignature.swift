/// An ECDSA signature over P-256 in its two forms: DER, which OpenSSL writes, and r‖s, which JWS needs.
enum ECDSASignature {
    /// Converts `SEQUENCE { INTEGER r, INTEGER s }` to 64 bytes.
    /// - Returns: nil when the DER is malformed or a number exceeds 32 bytes
    static func raw(der: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = der
        guard rest.popFirst() == 0x30, let length = rest.popFirst(), length < 0x80, rest.count == Int(length) else {
            return nil
        }
        guard let r = integer(&rest), let s = integer(&rest), rest.isEmpty else { return nil }
        return r + s
    }

    /// Reads one INTEGER as 32 big-endian bytes. DER drops leading zeros, and adds one if the top bit is set.
    private static func integer(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.popFirst() == 0x02, let length = rest.popFirst(), (1...33).contains(length),
            rest.count >= Int(length)
        else { return nil }
        let digits = rest.prefix(Int(length)).drop { $0 == 0 }
        rest.removeFirst(Int(length))
        guard digits.count <= 32 else { return nil }
        return [UInt8](repeating: 0, count: 32 - digits.count) + digits
    }
}
