import LiveActivity

/// The form of a file that should be PEM. Each form here is one that a tool, a variable or a secret store makes of it.
enum PEMForm {
    enum Content { case privateKey, certificate }
    typealias Problem = (problem: String, remedy: String)

    /// Names a wrong form, and says what to do. Nil: it looks like PEM, and OpenSSL reads it.
    static func problem(_ bytes: [UInt8], _ wanted: Content) -> Problem? {
        if bytes.isEmpty { return ("is empty", "write the file again") }
        if let form = binary(bytes, wanted) { return form }
        if let form = TextForm.foreign(bytes) { return ("is \(form.name)", form.remedy) }
        guard let text = String(validating: TextForm.unmarked(bytes), as: UTF8.self) else {
            return ("is not text", "give the file in PEM")
        }
        return layout(text.trimmed) ?? label(text, wanted)
    }

    /// DER and what is built on it: a SEQUENCE, and then a version or another SEQUENCE.
    private static func binary(_ bytes: [UInt8], _ wanted: Content) -> Problem? {
        guard bytes.first == 0x30, bytes.count > 8 else { return nil }
        let lengthBytes = bytes[1] & 0x80 == 0 ? 0 : Int(bytes[1] & 0x7F)
        guard lengthBytes <= 4 else { return nil }
        let content = bytes[(2 + lengthBytes)...]
        if content.starts(with: [0x02, 0x01, 0x03]) {
            return (
                "is a .p12 file",
                wanted == .privateKey
                    ? "give a .p8 key, in PEM" : "openssl pkcs12 -in FILE -nokeys -out FILE.pem makes PEM of it"
            )
        }
        guard content.first == 0x02 || content.first == 0x30 else { return nil }
        let tool = wanted == .privateKey ? "pkey" : "x509"
        return ("is DER, not PEM", "openssl \(tool) -inform DER -in FILE -out FILE.pem makes PEM of it")
    }

    private static func layout(_ text: String) -> Problem? {
        let again = "write the file again with its line breaks"
        if text.isEmpty { return ("is empty", "write the file again") }
        if text.first == "\"" || text.first == "'" { return ("is in quotes", "remove the quotes") }
        guard let begin = text.firstRange(of: "-----BEGIN ") else { return withoutBlock(text) }
        if text.contains("\\n") { return ("has \\n as two characters in place of line breaks", again) }
        let block = text[begin.lowerBound...]
        let line = block.prefix { !$0.isNewline }
        if line.contains("-----END ") || line.endIndex == block.endIndex { return ("is all in one line", again) }
        let lines = text.split(whereSeparator: \.isNewline)
        // Only these lines: certificates often stand below text about them.
        if lines.contains(where: { $0.first?.isWhitespace == true && $0.trimmed.hasPrefix("-----") }) {
            return ("is indented", "remove the blanks before its lines")
        }
        if begin.lowerBound > text.startIndex, text[..<begin.lowerBound].last?.isNewline == false {
            return ("has text before -----BEGIN in its line", "let the line begin with -----BEGIN")
        }
        return nil
    }

    /// The text has no `-----BEGIN`.
    private static func withoutBlock(_ text: String) -> Problem? {
        let body = text.filter { !$0.isWhitespace }
        if let decoded = Base64.decode(body) ?? Base64.decodeURL(body) {
            if String(decoding: decoded, as: UTF8.self).contains("-----BEGIN ") {
                return ("is the base64 of a PEM file", "write the file with base64 -d")
            }
            if decoded.first == 0x30 {
                return ("has no lines -----BEGIN … and -----END …", "add them, or write the file again")
            }
        }
        return ("holds no PEM block (-----BEGIN …)", "give the file as it was issued")
    }

    /// The wrong file of several is named by what its first block says.
    private static func label(_ text: String, _ wanted: Content) -> Problem? {
        let labels = text.split(separator: "-----BEGIN ").dropFirst(text.hasPrefix("-----BEGIN ") ? 0 : 1)
            .map { String($0.prefix { $0 != "-" }) }
        switch wanted {
        case .certificate where !labels.contains(where: { $0.hasSuffix("CERTIFICATE") }):
            return ("holds a \(labels.first ?? "") and no certificate", "give the file with the certificate")
        case .privateKey where !labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }):
            return ("holds a \(labels.first ?? "") and no private key", "give the file with the private key")
        default: return nil
        }
    }
}
