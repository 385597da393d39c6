/// A place in a JSON text. Line and column count from 1. Columns count Unicode code points, and lines end with LF.
public struct JSONLocation: Sendable, Hashable {
    public var line: Int
    public var column: Int

    public init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    init(offset: Int, in bytes: [UInt8]) {
        self = JSONLocation(line: 1, column: 1).advanced(by: bytes.prefix(offset))
    }

    /// The place after `bytes`, which begin here.
    func advanced(by bytes: ArraySlice<UInt8>) -> JSONLocation {
        var place = self
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                place.line += 1
                place.column = 1
            } else if byte & 0xC0 != 0x80 {
                place.column += 1
            }
        }
        return place
    }
}
