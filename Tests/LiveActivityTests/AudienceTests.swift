import LiveActivity
import Testing

@Suite struct AudienceTests {
    private let red = Audience.tag("red", group: "team")
    private let blue = Audience.tag("blue", group: "team")
    private let ann = Audience.namedUser("ann")

    @Test func `membership follows the truth table`() throws {
        let me = ChannelID.random()
        for bits in 0..<8 {
            let (isRed, isBlue, isAnn) = (bits & 1 != 0, bits & 2 != 0, bits & 4 != 0)
            func matches(_ audience: Audience) -> Bool {
                audience.matches(me) { set in
                    switch set {
                    case .tag("red", "team"): isRed
                    case .tag("blue", "team"): isBlue
                    case .namedUser("ann"): isAnn
                    default: false
                    }
                }
            }
            #expect(matches(.all))
            #expect(!matches(.not(.all)))
            #expect(matches(red) == isRed)
            #expect(matches(.tag("red", group: "other")) == false)
            #expect(matches(.or([red, blue])) == (isRed || isBlue))
            #expect(matches(.and([red, blue])) == (isRed && isBlue))
            #expect(matches(.and([.or([red, ann]), .not(blue)])) == ((isRed || isAnn) && !isBlue))
            #expect(matches(.not(.and([red, .not(ann)]))) == !(isRed && !isAnn))
            #expect(matches(.or([])) == false)
            #expect(matches(.and([])))
            #expect(matches(.channel(me)))
            #expect(!matches(.channel(.random())))
            #expect(matches(.or([.channel(.random()), .channel(me)])))
        }
    }

    @Test func `each set is asked once in order`() {
        let audience = Audience.and([
            .or([blue, .not(red), ann]), .channel(.random()), red, .all, .namedUser("bob"), .tag("red", group: "other"),
            ann,
        ])
        #expect(
            audience.sets == [
                .tag("blue", group: "team"), .tag("red", group: "team"), .namedUser("ann"), .namedUser("bob"),
                .tag("red", group: "other"),
            ])
        #expect(Audience.all.sets.isEmpty)
    }

    /// Redis keeps two sets for a text that Unicode treats as the same in two encodings.
    @Test func `tags are told apart by their bytes`() {
        let composed = Audience.tag("caf\u{E9}", group: "g")
        let decomposed = Audience.tag("cafe\u{301}", group: "g")
        #expect(composed != decomposed)
        #expect(composed.encoded != decomposed.encoded)
        #expect(Audience.or([composed, decomposed]).sets.count == 2)
        #expect(Audience.namedUser("caf\u{E9}").sets != Audience.namedUser("cafe\u{301}").sets)
    }

    @Test func `encodings are golden`() throws {
        let channel = try ChannelID("01234567-89AB-CDEF-0123-456789ABCDEF")
        let table: [(Audience, String)] = [
            (.all, "*"), (red, "t4:team3:red"), (ann, "u3:ann"), (.namedUser(""), "u0:"),
            (.channel(channel), "c36:01234567-89ab-cdef-0123-456789abcdef"),
            (.or([red, .not(.all)]), "|2:t4:team3:red!*"), (.and([]), "&0:"), (.tag("é:3:", group: "1"), "t1:15:é:3:"),
        ]
        for (audience, text) in table {
            #expect(String(decoding: audience.encoded, as: UTF8.self) == text)
            #expect(Audience(encoded: text.utf8) == audience)
        }
    }

    @Test func `random audiences come back`() {
        var seen: [[UInt8]: Audience] = [:]
        for _ in 0..<3_000 {
            let audience = Audience.random(depth: Int.random(in: 0...5))
            let encoded = audience.encoded
            #expect(Audience(encoded: encoded) == audience)
            seen[encoded] = audience
            // A shortened or extended encoding is no audience.
            #expect(Audience(encoded: encoded.dropLast()) == nil)
            #expect(Audience(encoded: encoded + [UInt8(ascii: "*")]) == nil)
        }
        #expect(Set(seen.values).count == seen.count)
    }

    @Test func `the deepest allowed is read and a deeper one is not`() {
        func nested(_ depth: Int) -> Audience { (0..<depth).reduce(.all) { inner, _ in .not(inner) } }
        #expect(Audience(encoded: nested(Audience.maximumDepth).encoded) == nested(Audience.maximumDepth))
        #expect(Audience(encoded: nested(Audience.maximumDepth + 1).encoded) == nil)
        #expect(Audience(encoded: [UInt8](repeating: UInt8(ascii: "!"), count: 1_000_000)) == nil)
        #expect(Audience(encoded: Array(String(repeating: "|1:", count: 100_000).utf8)) == nil)
    }

    @Test(arguments: [
        "", "x", "t", "t3", "t3:", "t3:ab", "t3:abc", "t3:abc1:", "t:abc1:d", "t03:abc1:d", "t3:abc01:d", "t-1:a1:b",
        "t9999999:a1:b", "t99999999999999999999:a1:b", "c0:", "c1:\n", "u5:ab", "|", "|2:*", "|1001:*", "|9999999:",
        "&1:",
        "!", "**", "c36:01234567-89AB-cdef-0123-456789abcdef", "* ", "u1:\u{E9}",
    ])
    func `malformed text is no audience`(text: String) {
        #expect(Audience(encoded: text.utf8) == nil)
    }

    @Test func `arbitrary bytes never crash and are canonical if read`() {
        let alphabet = Array("*tcu|&!0123456789:ab".utf8) + [0xFF, 0xC3, 0]
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0...16)).map { _ in alphabet.randomElement() ?? 0 }
            if let audience = Audience(encoded: bytes) { #expect(audience.encoded == bytes) }
        }
        // Change a single byte of a good encoding.
        for _ in 0..<3_000 {
            var bytes = Audience.random(depth: 3).encoded
            bytes[Int.random(in: bytes.indices)] = UInt8.random(in: 0...255)
            if let audience = Audience(encoded: bytes) { #expect(audience.encoded == bytes) }
        }
    }
}

extension Audience {
    fileprivate static func random(depth: Int) -> Audience {
        func text() -> String {
            let scalars = Array("a1:*é漢😀 !".unicodeScalars)
            var text = ""
            for _ in 0..<Int.random(in: 1...6) { text.unicodeScalars.append(scalars.randomElement() ?? "a") }
            return text
        }
        func parts() -> [Audience] { (0..<Int.random(in: 0...4)).map { _ in random(depth: depth - 1) } }
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5)) {
        case 0: return .all
        case 1: return .tag(text(), group: text())
        case 2: return .namedUser(text())
        case 3: return .channel(.random())
        case 4: return (try? ChannelID(text())).map(Audience.channel) ?? .all
        case 5: return .or(parts())
        case 6: return .and(parts())
        default: return .not(random(depth: depth - 1))
        }
    }
}
