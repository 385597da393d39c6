/// A problem of a JSON text or of one of its values, with its place.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Part of a sentence that follows the path, such as `must be a string, not a number`.
    public var message: String
    /// A path such as `notification.ios.live_activity.priority` or `[1].audience.or[0]`. Empty at the root.
    public var path: String
    public var location: JSONLocation

    public init(message: String, path: String, location: JSONLocation) {
        self.message = message
        self.path = path
        self.location = location
    }

    public var description: String {
        let subject = path.isEmpty ? "" : "\(path): "
        return "\(subject)\(message) (line \(location.line), column \(location.column))"
    }
}

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
