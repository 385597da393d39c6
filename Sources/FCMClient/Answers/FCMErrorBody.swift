/// The body of an answer other than 200, as far as it decides something:
/// `{"error":{"message":"…","status":"NOT_FOUND","details":[{"@type":"…FcmError","errorCode":"UNREGISTERED"}]}}`
///
/// A lane keeps the first kibibytes of an answer, so the text may be cut. Reading is tolerant: what is missing or
/// malformed stays empty.
struct FCMErrorBody: Hashable {
    /// Whether the body is an error in Google's form.
    private(set) var isError = false
    private(set) var status: String?
    private(set) var errorCode: String?
    /// The fields of the request that Google calls wrong.
    private(set) var violations: [String] = []
    private var message = ""

    /// The longest word that ledgers and logs show.
    private static let longestWord = 64

    /// The address is wrong, not the message: Google names its field alone, or says so in words.
    var blamesAddress: Bool {
        guard violations.isEmpty else { return violations.allSatisfy { $0 == "message.token" || $0 == "message.fid" } }
        let text = message.lowercased()
        return errorCode != nil && text.contains("not a valid")
            && (text.contains("registration token") || text.contains("installation id"))
    }
    /// The message is wrong for every address.
    var blamesMessage: Bool { !violations.isEmpty }

    init(_ bytes: [UInt8]) {
        var reader = StringReader(rest: bytes[...])
        var key: [UInt8]?
        while let (text, isKey) = reader.next() {
            if isKey {
                key = text
                if text.elementsEqual("error".utf8) { isError = true }
                continue
            }
            guard let name = key.map({ String(decoding: $0, as: UTF8.self) }), isError else { continue }
            key = nil
            let value = String(decoding: text, as: UTF8.self)
            switch name {
            case "status": status = status ?? Self.word(value)
            case "errorCode": errorCode = errorCode ?? Self.word(value)
            case "field": violations.append(value)
            case "message": if message.isEmpty { message = value }
            default: break
            }
        }
    }

    private static func word(_ text: String) -> String? {
        let isWord = text.utf8.allSatisfy { $0.isASCIILetter || $0 == UInt8(ascii: "_") }
        return isWord && (1...longestWord).contains(text.utf8.count) ? text : nil
    }

    /// Reads the strings of a JSON object, one after the other.
    private struct StringReader {
        var rest: ArraySlice<UInt8>
        private var hasBegun = false

        init(rest: ArraySlice<UInt8>) { self.rest = rest }

        /// The next string, with its escapes as written, and whether it is a key. Nil at the end, or if the text is no
        /// object.
        mutating func next() -> (text: [UInt8], isKey: Bool)? {
            if !hasBegun {
                hasBegun = true
                guard rest.first(where: { !Self.isSpace($0) }) == UInt8(ascii: "{") else { return nil }
            }
            guard let start = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            rest = rest[(start + 1)...]
            var text: [UInt8] = []
            var isEscaped = false
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\""), !isEscaped {
                    rest = rest.drop(while: Self.isSpace)
                    return (text, rest.first == UInt8(ascii: ":"))
                }
                isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
                text.append(byte)
            }
            return nil
        }

        private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    }
}

extension UInt8 {
    fileprivate var isASCIILetter: Bool { (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self) }
}
