import Testing

@testable import StrictJSON

@Suite struct ParsingTests {
    @Test(arguments: [
        ("1e-400", false), ("-0.5e-400", false), ("1e400", false), ("0e-400", true), ("0.000", true), ("-0.0E5", true),
        ("1e-300", true), ("4.9e-324", true), ("1e300", true),
    ])
    func `a number that a double cannot hold is refused, at both ends`(text: String, isHeld: Bool) throws {
        let value = try JSONDocument(text).root
        #expect(((try? value.double()) != nil) == isHeld)
    }

    @Test(arguments: [
        "{}", "[]", "0", "-0", "1.0", "1e2", "-1.5E-10", "true", "false", "null", #""""#, " [ 1 , 2 ]\n",
        #"{"a":{"b":[1,{"c":null}]},"d":"é😀\u00e9\ud83d\ude00\n"}"#, #"{"":1}"#, #"[[[],{}],[]]"#,
    ])
    func `accepts every form of RFC 8259`(text: String) throws {
        let document = try JSONDocument(text)
        #expect(document.root.raw.elementsEqual(text.trimmed.utf8))
    }

    @Test(arguments: [
        ("0", 1), ("[0]", 2), ("[0,0,0]", 4), (#"{"a":1,"b":[2,"x,[{\",:"]}"#, 5), (#"["\\",1]"#, 3), ("[[[[0]]]]", 5),
        (" [ 1 , true , null ]\n", 4), (#"[{"a":{"b":1}},{"c":2}]"#, 6),
    ])
    func `the values of a text are counted before it is parsed`(text: String, values: Int) throws {
        #expect(JSONParser.mostNodes(Array(text.utf8)) == values)
        #expect(try JSONDocument(text).index.nodes.count == values)
    }

    @Test(arguments: ["[]", "{}", "[[],{},[[]]]", ",,,,,,,,", "[,[,[,", #""\"#, ""])
    func `no text has more values than are counted, or than its length allows`(text: String) {
        let bytes = Array(text.utf8)
        let counted = JSONParser.mostNodes(bytes)
        #expect(counted <= JSONParser.mostNodes(ofLength: bytes.count))
        #expect((try? JSONDocument(text).index.nodes.count) ?? 0 <= counted)
    }

    @Test(arguments: [
        ("", 1, 1), ("  ", 1, 1), ("{", 1, 2), ("[1", 1, 3), ("[1,]", 1, 4), (#"{"a":1,}"#, 1, 8), ("[1 2]", 1, 4),
        ("{a:1}", 1, 2), ("{'a':1}", 1, 2), (#"{"a" 1}"#, 1, 6), (#"{"a":}"#, 1, 6), ("01", 1, 1), ("[-]", 1, 2),
        ("1.", 1, 1), (".5", 1, 1), ("1e", 1, 1), ("+1", 1, 1), ("NaN", 1, 1), ("Infinity", 1, 1), ("nul", 1, 1),
        ("[1]x", 1, 4), ("[1]\n\n  {}", 3, 3), (#"["\x"]"#, 1, 3), (#"["\u12g4"]"#, 1, 3), ("[\"a\tb\"]", 1, 4),
        (#"["\ud800"]"#, 1, 3), (#"["\ud800\u0041"]"#, 1, 3), (#"["\udc00"]"#, 1, 3), (#"["abc]"#, 1, 2),
        ("\u{FEFF}{}", 1, 1), ("[\n  \"é😀\", x]", 2, 9), ("]", 1, 1), ("[}", 1, 2), ("{]", 1, 2), (#"["\"#, 1, 3),
    ])
    func `refuses what is not JSON, and says where`(text: String, line: Int, column: Int) throws {
        let error = try #require(throws: JSONError.self) { try JSONDocument(text) }
        #expect(error.location == JSONLocation(line: line, column: column), "\(error)")
        #expect(error.message.hasPrefix("the JSON text "))
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x80, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xE2, 0x82], [0xF0, 0x9F, 0x98],
        ] as [[UInt8]])
    func `refuses invalid UTF-8 in a string at its first bad byte`(bytes: [UInt8]) throws {
        let text = Array(#"{"é":""#.utf8) + bytes + Array(#""}"#.utf8)
        let error = try #require(throws: JSONError.self) { try JSONDocument(text) }
        #expect(error.location == JSONLocation(line: 1, column: 7))
        #expect(error.message.contains("UTF-8"))
        #expect(throws: JSONError.self) { try JSONDocument(bytes) }
    }

    @Test(arguments: [65, 1_000, 1_000_000])
    func `depth is bounded without using the stack`(depth: Int) throws {
        for opening in ["[", #"{"a":"#] {
            let error = try #require(throws: JSONError.self) {
                try JSONDocument(String(repeating: opening, count: depth))
            }
            #expect(error.message.contains("deeper than 64"))
        }
        let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(throws: Never.self) { try JSONDocument(deep) }
        let deeper = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let document = try JSONDocument(deeper, maximumDepth: depth)
        #expect(try document.root.array().count == 1)
    }

    @Test func `the places of thousands of errors cost one pass over the text`() throws {
        let line = #"  {"é": ["ü😀", 1, null], "b": "x"},"# + "\n"
        let bytes = Array(("[\n" + String(repeating: line, count: 2_000) + "0]").utf8)
        let document = try JSONDocument(bytes)
        let entries = try document.root.array()
        // Look at the entries in reverse too: a part that was scanned once is not scanned again.
        for (number, entry) in entries.enumerated().reversed() {
            #expect(entry.error("is wrong").location == JSONLocation(line: number + 2, column: number == 2_000 ? 1 : 3))
        }
        #expect(entries.count == 2_001)
        #expect(document.index.scannedBytes < bytes.count + 2_001 * 256)
        for number in [0, 1, 255, 256, 257, 511, 512, bytes.count] {
            #expect(document.index.location(at: number) == JSONLocation(offset: number, in: bytes), "\(number)")
        }
    }

    @Test func `mutated documents never crash the parser, and what it accepts reads back`() throws {
        let seed = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00é",true,null],"b":{"c":{}},"a":[]}"#.utf8)
        var random = SplitMix64(state: 20_261_121)
        var accepted = 0
        for _ in 0..<20_000 {
            var bytes = seed
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(seed.randomElement(using: &random) ?? 0, at: place)
                default: bytes.removeSubrange(place...)
                }
                if bytes.isEmpty { break }
            }
            guard let document = try? JSONDocument(bytes) else { continue }
            accepted += 1
            #expect(String(validating: bytes, as: UTF8.self) != nil)
            walk(document.root)
        }
        #expect(accepted > 500)
    }

    private func walk(_ value: JSONValue) {
        _ = value.path
        switch value.kind {
        case .object: (try? value.object())?.members.forEach { walk($0.value) }
        case .array: (try? value.array())?.forEach(walk)
        case .string: #expect((try? value.string()) != nil)
        case .number: _ = try? value.integer()
        case .bool, .null: break
        }
    }
}

@Suite struct ReadingTests {
    @Test func `values keep their bytes, path and place`() throws {
        let text = """
            [{}, {
              "audience": {"or": [ {"tag": "é"}, 12345678901234567890 ]},
              "n": { "x" : 1.0, "y":1e2,"z":-0 }
            }]
            """
        let second = try JSONDocument(text).root.array()[1].object()
        let or = try second.required("audience").object().required("or").array()
        #expect(or[0].path == "[1].audience.or[0]")
        #expect(or[0].location == JSONLocation(line: 2, column: 24))
        #expect(or[1].raw.elementsEqual("12345678901234567890".utf8))
        #expect(or[1].location == JSONLocation(line: 2, column: 38))
        #expect(try second.required("n").raw.elementsEqual(#"{ "x" : 1.0, "y":1e2,"z":-0 }"#.utf8))
        #expect(try second.required("n").keyLocation == JSONLocation(line: 3, column: 3))
    }

    @Test func `a repeated key is refused in an object that is read, and passed on in one that is not`() throws {
        let document = try JSONDocument(#"{"state":{"a":1,"\u0061":2},"b":1}"#)
        let state = try document.root.object().required("state")
        #expect(state.raw.elementsEqual(#"{"a":1,"\u0061":2}"#.utf8))
        let error = try #require(throws: JSONError.self) { try state.object() }
        #expect(error.path == "state.a")
        #expect(error.location == JSONLocation(line: 1, column: 17))
    }

    @Test func `keys are told apart by their bytes`() throws {
        let object = try JSONDocument(#"{"\u00e9":1,"e\u0301":2}"#).root.object()
        #expect(object.members.count == 2)
    }

    @Test func `typed reading names what it found`() throws {
        let object = try JSONDocument(
            #"{"s":"x","i":9223372036854775807,"big":9223372036854775808,"f":1.0,"t":true,"n":null,"inf":1e999}"#
        ).root.object()
        #expect(try object.required("i").integer() == .max)
        #expect(try object.required("t").bool())
        for (key, message) in [
            ("s", "must be a whole number, not a string"), ("big", "must be a whole number of at most 64 bits"),
            ("f", "must be a whole number, without fraction"), ("n", "must be a whole number, not null"),
            ("t", "must be a whole number, not true"),
        ] {
            let error = try #require(throws: JSONError.self) { try object.required(key).integer() }
            #expect(error.message == message)
            #expect(error.path == key)
        }
        #expect(throws: JSONError.self) { try object.required("inf").double() }
        let missing = try #require(throws: JSONError.self) { try object.required("zzz") }
        #expect(missing.path == "zzz")
    }

    @Test func `an unknown key is named with its nearest neighbour`() throws {
        let object = try JSONDocument(#"{"priorty":5}"#).root.object()
        let error = try #require(throws: JSONError.self) { try object.refuseUnknownKeys(known: ["name", "priority"]) }
        #expect(error.message == "is not a known key here; did you mean `priority`?")
        let other = try JSONDocument(#"{"colour of magic":5}"#).root.object()
        let far = try #require(throws: JSONError.self) { try other.refuseUnknownKeys(known: ["name", "event"]) }
        #expect(far.message == "is not a known key here; known: name, event")
        #expect(far.path == #"["colour of magic"]"#)
    }

    @Test func `strings decode every escape`() throws {
        let value = try JSONDocument(#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00é""#).root
        #expect(try value.string() == "\"\\/\u{8}\u{C}\n\r\tAé€😀é")
    }
}

@Suite struct WritingTests {
    @Test func `writes compact JSON in order`() throws {
        var json: JSON = ["ok": true, "ids": ["a\"\\\n\u{1}é"], "n": -5, "none": .null, "raw": .raw(Array("1.0".utf8))]
        json.append("last", .integer(7))
        #expect(json.text == #"{"ok":true,"ids":["a\"\\\n\u0001é"],"n":-5,"none":null,"raw":1.0,"last":7}"#)
        #expect(try JSONDocument(json.bytes).root.object().required("ids").array()[0].string() == "a\"\\\n\u{1}é")
    }
}

/// A fixed sequence, so that a failure can be repeated.
private struct SplitMix64: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

extension String {
    fileprivate var trimmed: Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\n" }
        let front = drop(while: isSpace)
        return front.lastIndex { !isSpace($0) }.map { front[...$0] } ?? front
    }
}
