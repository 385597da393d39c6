import LiveActivity
import Testing

@Suite struct AndroidAddressTests {
    private static let fid = "cTmUK-7_S2eK9aY6Y2Ds0x"
    private static let token = fid + ":APA91b" + String(repeating: "aZ0_-", count: 27)

    @Test func `the stored form says the kind in one byte, and is read again`() throws {
        for (kind, text, byte) in [(.token, Self.token, "t"), (.fid, Self.fid, "f"), (.token, Self.fid, "t")]
            as [(AndroidAddress.Kind, String, String)]
        {
            let address = try AndroidAddress(kind, text)
            #expect(address.stored == Array("\(byte)\(text)".utf8))
            #expect(AndroidAddress(stored: address.stored) == address)
            let token = PushToken(address)
            #expect(token.bytes == address.stored && token.platform == .android)
            #expect(try token == PushToken(text: byte + text, of: .android))
        }
        #expect(AndroidAddress.Kind.allCases.map(\.field) == ["token", "fid"])
    }

    @Test func `a text that needs an escape in JSON is no address`() throws {
        let longest = AndroidAddress.maximumText
        #expect(
            try AndroidAddress(.token, String(repeating: "a", count: longest)).stored.count <= PushToken.maximumText)
        for text in ["", "a b", "a\"", "a\\", "a\n", "ä", "\u{7F}", String(repeating: "a", count: longest + 1)] {
            #expect(throws: IdentifierError.self, "\(text.debugDescription)") { try AndroidAddress(.token, text) }
        }
        let short = String(Self.fid.dropLast())
        for text in ["", short, Self.fid + "x", "a" + Self.fid.dropFirst(), short + ":", short + "é"] {
            #expect(throws: IdentifierError.self, "\(text)") { try AndroidAddress(.fid, text) }
        }
        for bytes in ["", "t", "f", "x" + Self.fid, Self.fid, "f" + Self.token] {
            #expect(AndroidAddress(stored: Array(bytes.utf8)) == nil, "\(bytes)")
        }
        #expect(AndroidAddress(stored: [0x74, 0xFF]) == nil)
    }

    @Test func `an address is never shown whole`() throws {
        let address = try AndroidAddress(.token, Self.token)
        #expect(address.description == "token cTmU…(\(Self.token.utf8.count) characters)")
    }
}
