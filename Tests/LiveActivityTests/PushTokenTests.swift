import LiveActivity
import Testing

@Suite struct PushTokenTests {
    @Test(
        arguments: [
            ("<a0a1b2b3 c4c5d6d7>", "description of NSData"),
            ("{length = 32, bytes = 0xa0a1b2b3 ... c4c5d6d7}", "of Data"),
            ("32 bytes", nil), ("(null)", "no token"), (" ", "no token"), ("a0 a1 b2", "other characters between"),
            ("oKGys8TF1tfo6fr7DA0eH6ChsrPExdbX6On6+wwNHh8=", "Base64"), ("abc", nil), ("zz", nil),
        ] as [(String, String?)])
    func `the error names the form in which an app wrote a token`(text: String, form: String?) {
        #expect {
            _ = try PushToken(hex: text)
        } throws: { error in
            let rule = (error as? IdentifierError)?.rule ?? ""
            return form.map { rule.contains($0) } ?? rule.hasSuffix("hex digits")
        }
    }

    @Test func `hex is read in both cases and written in lowercase`() {
        #expect(Hex.decode("00fFA9") == [0, 0xFF, 0xA9])
        #expect(Hex.decode("") == [])
        #expect(Hex.encode([0, 0xFF, 0xA9]) == "00ffa9")
        #expect(Hex.encode([]) == "")
        let all = (0...255).map { UInt8($0) }
        #expect(Hex.decode(Hex.encode(all)) == all)
        #expect(Hex.decode(Hex.encode(all).uppercased()) == all)
        #expect(Hex.encode(all[250...]) == "fafbfcfdfeff")
        // Not in one piece of memory.
        #expect(Hex.encode(all.lazy.map { $0 }) == Hex.encode(all) && Hex.encode(EmptyCollection()) == "")
        #expect(Hex.decode("x00fFA9é".dropFirst().dropLast()) == [0, 0xFF, 0xA9])
        for bad in ["0", "0g", "0x", " 00", "00 ", "é0", "0\0", "/0", ":0", "@0", "G0", "`0"] {
            #expect(Hex.decode(bad) == nil, "\(bad)")
        }
        for value in 0...255 as ClosedRange<UInt8> {
            let character = Character(Unicode.Scalar(value))
            #expect(Hex.value(value).map(Int.init) == (value < 128 ? character.hexDigitValue : nil))
        }
    }

    @Test func `a token has 1 to 512 bytes`() throws {
        for count in [1, 32, 80, 512] {
            let token = try PushToken(hex: String(repeating: "aB", count: count))
            #expect(token.bytes.count == count)
            #expect(token.hex == String(repeating: "ab", count: count))
            #expect(PushToken(bytes: token.bytes) == token)
        }
        for bad in ["", "a", "abc", "zz", String(repeating: "ab", count: 513), String(repeating: "ab", count: 2_000)] {
            let error = #expect(throws: IdentifierError.self) { try PushToken(hex: bad) }
            #expect(
                error?.description.hasPrefix(
                    "token must be 1 to 512 bytes written as an even number of hex digits") == true)
        }
        #expect(PushToken(bytes: []) == nil)
        #expect(PushToken(bytes: [UInt8](repeating: 1, count: 513)) == nil)
    }

    @Test func `a token is never shown whole`() throws {
        let token = try PushToken(hex: "00112233445566778899aabbccddeeff")
        #expect("\(token)" == "00112233…(16 bytes)")
        #expect(!"\(token)".contains("44"))
    }

    @Test func `a page keeps its entries in one buffer`() throws {
        var page = TokenPage(reservingEntries: 3, bytes: 300)
        #expect(page.isEmpty)
        let channels = try [ChannelID.random(), ChannelID("foreign"), ChannelID.random()]
        let tokens = [
            [UInt8](repeating: 1, count: 1), [UInt8](repeating: 2, count: 80), [UInt8](repeating: 3, count: 512),
        ]
        for (index, channel) in channels.enumerated() {
            page.append(
                channel: channel.stored, token: tokens[index], registeredAt: Int64(index) * 1_000, attempt: index)
        }
        #expect(page.count == 3)
        for index in 0..<3 {
            #expect(ChannelID(stored: page.channel(index)) == channels[index])
            #expect(Array(page.token(index)) == tokens[index])
            #expect(page.entries[index].registeredAt == Int64(index) * 1_000)
            #expect(page.entries[index].attempt == UInt16(index))
        }
        let rest = page.filtered { $0 != 1 }
        #expect(rest.count == 2)
        #expect(Array(rest.token(1)) == tokens[2])
        #expect(ChannelID(stored: rest.channel(0)) == channels[0])
        #expect(page.count == 3)
        page.append(channel: [1], token: [2], registeredAt: 0, attempt: 1_000_000)
        #expect(page.entries[3].attempt == .max)
        #expect(page.filtered { _ in false }.isEmpty)
    }

    @Test func `an address of another platform is text`() throws {
        let other = Platform(code: 1)
        let address = try PushToken(text: "d:E_f-1%", of: other)
        #expect(address.bytes == Array("d:E_f-1%".utf8) && address.platform == other)
        #expect(try PushToken(hex: "c0ffee").platform == .ios)
        #expect(try PushToken(text: String(repeating: "x", count: 255), of: other).bytes.count == 255)
        for text in ["", "a b", "a\n", "\u{e4}", String(repeating: "x", count: 256)] {
            #expect(throws: IdentifierError.self) { try PushToken(text: text, of: other) }
        }
    }

    @Test func `a page knows the platforms of its entries`() {
        var page = TokenPage()
        #expect(page.platforms.isEmpty)
        page.append(channel: [1], token: [1], registeredAt: 0)
        page.append(channel: [2], token: [2], registeredAt: 0)
        #expect(page.platforms == [.ios])
        page.append(channel: [3], token: [3], registeredAt: 0, platform: Platform(code: 2))
        page.append(channel: [4], token: [4], registeredAt: 0)
        #expect(page.platforms == [.ios, Platform(code: 2)])
        #expect(page.filtered { $0 == 2 }.platforms == [Platform(code: 2)])
    }
}

@Suite struct PlatformTests {
    @Test func `each known platform has a word of its own`() {
        #expect(Platform.all == [.ios, .android] && Platform.all.map(\.code) == [0, 1])
        #expect(Platform.all.map(\.name) == ["ios", "android"])
        #expect(Platform(code: 3).name == "platform-3" && Platform(code: 7) == Platform(code: 3))
    }
}
