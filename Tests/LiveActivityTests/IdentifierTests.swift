import LiveActivity
import Testing

@Suite struct IdentifierTests {
    @Test func `a UUID is read in both cases and written in lowercase`() throws {
        let text = "01234567-89AB-cdef-0123-456789abcDEF"
        let uuid = try #require(UUIDBytes(text))
        #expect(uuid.high == 0x0123_4567_89AB_CDEF)
        #expect(uuid.low == 0x0123_4567_89AB_CDEF)
        #expect(uuid.description == text.lowercased())
        #expect(
            uuid.bytes == [1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 1, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF])
        #expect(UUIDBytes(bytes: uuid.bytes) == uuid)
        #expect(UUIDBytes(bytes: uuid.bytes.dropLast()) == nil)
        #expect(UUIDBytes(bytes: uuid.bytes + [0]) == nil)
    }

    @Test func `a UUID is read from bytes that are not in one piece`() throws {
        let uuid = try #require(UUIDBytes("01234567-89ab-cdef-0123-456789abcdef"))
        #expect(UUIDBytes("x01234567-89ab-cdef-0123-456789abcdefx".dropFirst().dropLast()) == uuid)
        #expect(UUIDBytes(bytes: uuid.bytes.lazy.map { $0 }) == uuid)
        #expect(UUIDBytes(bytes: ([9] + uuid.bytes + [9])[1...16]) == uuid)
        #expect(UUIDBytes(bytes: EmptyCollection()) == nil)
    }

    @Test func `random numbers that many threads take are given once`() async {
        let each = 5_000
        let all = await withTaskGroup(of: [UUIDBytes].self) { group in
            for _ in 0..<8 { group.addTask { (0..<each).map { _ in .random() } } }
            return await group.reduce(into: Set<UInt64>()) { all, some in
                all.formUnion(some.flatMap { [$0.high, $0.low] })
            }
        }
        #expect(all.count == 2 * 8 * each)
    }

    @Test(arguments: [
        "", "-", "0123456789abcdef0123456789abcdef", "{01234567-89ab-cdef-0123-456789abcdef}",
        "01234567-89ab-cdef-0123-456789abcde", "01234567-89ab-cdef-0123-456789abcdeff",
        "01234567-89ab-cdef-0123-456789abcdeg", "012345678-9ab-cdef-0123-456789abcdef",
        "01234567-89ab-cdef-0123-456789abcdef ", "01234567-89ab-cdef-0123-456789abcdé",
        "01234567--9ab-cdef-0123-456789abcdef", "01234567-89ab-cdef-0123-456789abcdef-",
    ])
    func `is not AUUID`(text: String) {
        #expect(UUIDBytes(text) == nil)
        #expect(PushID(text) == nil)
    }

    @Test func `random UUI ds are version 4 and differ`() {
        let many = (0..<1_000).map { _ in UUIDBytes.random() }
        #expect(Set(many).count == many.count)
        for uuid in many {
            #expect(uuid.bytes[6] >> 4 == 4)
            #expect(uuid.bytes[8] >> 6 == 0b10)
            #expect(UUIDBytes(uuid.description) == uuid)
        }
    }

    @Test func `ordered UUIDs are version 7 and sort by time and index`() {
        let time: Int64 = 0x0190_0000_0001
        let uuid = UUIDBytes.ordered(at: time, index: 5)
        #expect(uuid.description.hasPrefix("01900000-0001-7005-") && uuid.bytes[8] >> 6 == 0b10)
        #expect(UUIDBytes.ordered(at: time, index: 70_000).description.hasPrefix("01900000-0001-7fff-"))
        let texts = [(time, 0), (time, 1), (time, 300), (time + 1, 0)]
            .map { UUIDBytes.ordered(at: $0.0, index: $0.1).description }
        #expect(texts == texts.sorted())
    }

    @Test func `a push id has a short form of 22 characters`() {
        for id in (0..<100).map({ _ in PushID.random() }) {
            #expect(id.short.utf8.count == PushID.shortLength && PushID(short: id.short) == id)
            #expect(id.short.utf8.allSatisfy { $0.isURLUnreserved })
        }
        #expect(PushID(short: String(repeating: "A", count: 22)) == PushID(UUIDBytes(high: 0, low: 0)))
        // The last of these has bits behind the 16 bytes.
        for text in ["", "A", PushID.random().description, "AAAAAAAAAAAAAAAAAAAAA=", "AAAAAAAAAAAAAAAAAAAAAB"] {
            #expect(PushID(short: text) == nil, "\(text)")
        }
    }

    @Test func `a channel that is AUUID is stored as its bytes`() throws {
        let channel = try ChannelID("ABCDEF01-89AB-CDEF-0123-456789ABCDEF")
        #expect(channel.description == "abcdef01-89ab-cdef-0123-456789abcdef")
        #expect(channel == (try ChannelID("abcdef01-89ab-cdef-0123-456789abcdef")))
        #expect(channel.stored.count == 16)
        #expect(ChannelID(stored: channel.stored) == channel)
    }

    /// With the marker before them, 15 bytes would look like the 16 of a UUID, so they get a zero at the end.
    @Test(arguments: [1, 2, 14, 15, 16, 17, 36, 127, 128])
    func `a foreign channel comes back from its stored form`(length: Int) throws {
        let channel = try ChannelID(String(repeating: "x", count: length))
        let stored = channel.stored
        #expect(stored.count == (length == 15 ? 17 : length + 1))
        #expect(stored.first == 1)
        #expect(ChannelID(stored: stored) == channel)
        #expect(ChannelID(stored: stored[...]) == channel)
    }

    @Test func `no two channels are stored alike`() throws {
        var seen: [[UInt8]: ChannelID] = [:]
        let alphabet = Array("ab-é漢😀".unicodeScalars)
        for _ in 0..<20_000 {
            let channel: ChannelID
            if Bool.random() {
                channel = .random()
            } else {
                var text = ""
                for _ in 0..<Int.random(in: 1...18) { text.unicodeScalars.append(alphabet.randomElement() ?? "a") }
                channel = try ChannelID(text)
            }
            #expect(ChannelID(stored: channel.stored) == channel)
            if let other = seen.updateValue(channel, forKey: channel.stored) { #expect(other == channel) }
        }
    }

    @Test func `bytes that nobody stored are no channel`() {
        let uuidText = Array("01234567-89ab-cdef-0123-456789abcdef".utf8)
        let foreign: [[UInt8]] = [
            [], [1], [2, 0x61], [0x61, 0x62], [1, 0xFF], [1, 0x00], [1, 0x0A], [1] + uuidText,
            [1] + [UInt8](repeating: 0x61, count: 129), [1] + [UInt8](repeating: 0x61, count: 10) + [0],
        ]
        for bytes in foreign { #expect(ChannelID(stored: bytes) == nil, "\(bytes)") }
        // Reading any bytes is safe, and what is read is written the same again.
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40)).map { $0 == 0 && Bool.random() ? 1 : UInt8.random(in: 0...255) }
            if let channel = ChannelID(stored: bytes) { #expect(channel.stored == bytes) }
        }
    }

    @Test func `names are told apart by their bytes`() throws {
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        #expect(composed == decomposed)
        #expect(try ActivityName(composed) != ActivityName(decomposed))
        #expect(try ChannelID(composed) != ChannelID(decomposed))
        #expect(try Set([ActivityName(composed), ActivityName(decomposed), ActivityName(composed)]).count == 2)
    }

    @Test func `names have limits and no control characters`() throws {
        #expect(try ActivityName("order-1234 / Ä 漢字 😀").rawValue == "order-1234 / Ä 漢字 😀")
        #expect(try ActivityName(String(repeating: "a", count: 255)).rawValue.count == 255)
        let bad = [
            "", String(repeating: "a", count: 256), String(repeating: "é", count: 128),
            String(repeating: "a", count: 10_000),
            "a\nb", "a\0", "\u{7F}", "\u{85}", "\u{9F}", "\t",
        ]
        for text in bad {
            let error = #expect(throws: IdentifierError.self) { try ActivityName(text) }
            #expect(error?.description == "name must be 1 to 255 bytes of text without control characters")
        }
        #expect(throws: IdentifierError.self) { try ChannelID(String(repeating: "a", count: 129)) }
        #expect(throws: IdentifierError.self) { try ChannelID("a\u{1}") }
    }

    @Test func `app keys are short and plain`() throws {
        #expect(try AppKey("My-App_1.beta").rawValue == "My-App_1.beta")
        #expect(try AppKey(String(repeating: "k", count: 64)).description.count == 64)
        for text in ["", String(repeating: "k", count: 65), "a b", "a:b", "a/b", "é", "a{b}", "-shop"] {
            #expect(throws: IdentifierError.self) { try AppKey(text) }
        }
    }
}
