import Synchronization

/// One JSON text (RFC 8259), fully checked, and kept as its bytes with a flat index.
///
/// Every value knows its place. So a value can be passed on exactly as written, and an error names the exact place.
///
/// It is stricter than the RFC where parsers disagree: no byte order mark, no lone surrogates, limited depth. Object
/// keys may repeat in a document, but `JSONValue.object()` refuses such an object. So a value that is passed on without
/// reading (a `content_state`) keeps its repeated keys.
public struct JSONDocument: Sendable {
    /// The most levels of nested containers. The parser uses no recursion, so this limit is for
    /// callers and not for safety.
    public static let defaultMaximumDepth = 64

    let index: JSONIndex

    public init(_ bytes: [UInt8], maximumDepth: Int = defaultMaximumDepth) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        index = try parser.parse()
    }

    public init(_ text: String, maximumDepth: Int = defaultMaximumDepth) throws(JSONError) {
        try self.init(Array(text.utf8), maximumDepth: maximumDepth)
    }

    public var bytes: [UInt8] { index.bytes }
    public var root: JSONValue { JSONValue(index: index, number: 0) }
}

/// The bytes of a document and its values, in order of appearance. All `JSONValue`s of the document share it.
final class JSONIndex: Sendable {
    /// The bytes between two cached places.
    private static let stride = 256

    /// The places of the offsets 0, `stride`, 2 × `stride` …, computed on demand. So a body with thousands of errors is
    /// scanned once, and not once for each error.
    private struct Places {
        var known = [JSONLocation(line: 1, column: 1)]
        var scanned = 0
    }

    struct Node {
        var kind: JSONValue.Kind
        /// Byte offsets of the value, and of the text between the quotes of its key. Without a key these are -1.
        var start: Int32
        var end: Int32 = -1
        var keyStart: Int32 = -1
        var keyEnd: Int32 = -1
        /// The number of the containing value (-1 at the root), and the position in it.
        var parent: Int32
        var position: Int32
        /// How many children a container has.
        var count: Int32 = 0
        /// The number of the first node after this one and everything in it.
        var next: Int32 = 0
    }

    let bytes: [UInt8]
    let nodes: [Node]
    private let places = Mutex(Places())

    init(bytes: [UInt8], nodes: [Node]) {
        self.bytes = bytes
        self.nodes = nodes
    }

    /// How many bytes were scanned to find places. Tests limit it.
    var scannedBytes: Int { places.withLock { $0.scanned } }

    func location(at offset: Int) -> JSONLocation {
        let whole = offset / Self.stride
        return places.withLock { places in
            while places.known.count <= whole {
                let start = (places.known.count - 1) * Self.stride
                places.known.append(
                    places.known[places.known.count - 1].advanced(by: bytes[start..<start + Self.stride]))
                places.scanned += Self.stride
            }
            places.scanned += offset - whole * Self.stride
            return places.known[whole].advanced(by: bytes[whole * Self.stride..<offset])
        }
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
