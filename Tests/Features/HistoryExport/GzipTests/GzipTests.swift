import Gzip
import Testing

@Suite struct GzipTests {
    private func compressed(_ parts: [[UInt8]]) -> [UInt8] {
        var writer = GzipWriter()
        return parts.flatMap { writer.add($0) } + writer.finish()
    }

    private func read(_ bytes: [UInt8], step: Int) throws -> (text: [UInt8], isWhole: Bool) {
        var reader = GzipReader()
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: step) {
            text += try reader.add(Array(bytes[start..<min(bytes.count, start + step)]))
        }
        return (text, reader.isWhole)
    }

    @Test func `what was written is read, in parts of any size`() throws {
        var random = SystemRandomNumberGenerator()
        for parts in [[], [[]], [Array("a\n".utf8)], (0..<50).map { _ in (0..<9_999).map { _ in random.next() } }] {
            let bytes = compressed(parts)
            // Deflate, no name, no time, made by Unix.
            #expect(Array(bytes.prefix(10)) == [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3])
            for step in [1, 7, 65_536, .max / 2] where step > 1 || bytes.count < 1_000 {
                let (text, isWhole) = try read(bytes, step: step)
                #expect(text == parts.flatMap(\.self))
                #expect(isWhole)
            }
        }
    }

    @Test func `two texts, one after the other, are one`() throws {
        let bytes = compressed([Array("one\n".utf8)]) + compressed([Array("two\n".utf8)])
        for step in [1, 30, 1_000] {
            let (text, isWhole) = try read(bytes, step: step)
            #expect(text == Array("one\ntwo\n".utf8))
            #expect(isWhole)
        }
    }

    @Test func `a text that is cut is not whole, and other bytes are an error`() throws {
        let bytes = compressed([Array("a line\n".utf8)])
        for length in 1..<bytes.count { #expect(try !read(Array(bytes.prefix(length)), step: 5).isWhole) }
        #expect(throws: GzipError.broken) { try read(Array("no gzip at all".utf8), step: 100) }
        var other = bytes
        other[bytes.count - 6] ^= 1
        #expect(throws: GzipError.broken) { try read(other, step: 100) }
    }
}
