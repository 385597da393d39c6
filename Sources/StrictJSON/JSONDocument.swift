import Synchronization

/// One JSON text (RFC 8259), checked in full and kept as its bytes with a flat index beside them: every value knows where
/// it stands, so it can be passed on exactly as written and named exactly when it is wrong.
///
/// Stricter than the RFC where readers disagree: no byte order mark, no lone surrogates, bounded depth. Object keys may
/// repeat in a document; `JSONValue.object()` refuses it, so repeats are an error exactly in the objects that somebody
/// reads, and values that are passed on unread (a `content_state`) go out as they came.
public struct JSONDocument: Sendable {
    /// Containers inside containers; deeper text is refused. Parsing and reading keep their own stack, so the bound is
    /// about what callers want to see, not about safety.
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

/// The bytes of a document and its values in order of appearance; shared by all `JSONValue`s of it.
final class JSONIndex: Sendable {
    /// Bytes between two places that are remembered.
    private static let stride = 256

    /// Places of the offsets 0, `stride`, 2 × `stride` … as far as anybody asked, so that a body with thousands of
    /// errors is scanned once, not once for each error.
    private struct Places {
        var known = [JSONLocation(line: 1, column: 1)]
        var scanned = 0
    }

    struct Node {
        var kind: JSONValue.Kind
        /// Byte offsets of the value, and of the text between the quotes of its key (empty and -1 if it has none).
        var start: Int32
        var end: Int32 = -1
        var keyStart: Int32 = -1
        var keyEnd: Int32 = -1
        /// Number of the containing value, -1 at the root, and the place in it.
        var parent: Int32
        var position: Int32
        /// Number of children of a container.
        var count: Int32 = 0
        /// Number of the first node after this one and all that it contains.
        var next: Int32 = 0
    }

    let bytes: [UInt8]
    let nodes: [Node]
    private let places = Mutex(Places())

    init(bytes: [UInt8], nodes: [Node]) {
        self.bytes = bytes
        self.nodes = nodes
    }

    /// Bytes that were looked at to find places; tests bound it.
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

/// A place in a JSON text: 1-based line and column. Columns count Unicode characters (code points), lines end with LF.
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

    /// The place behind `bytes`, which begin here.
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

/// What is wrong with a JSON text, or with a value of it, and where.
public struct JSONError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A sentence fragment that follows the path, such as `must be a string, not a number`.
    public var message: String
    /// `notification.ios.live_activity.priority`, `[1].audience.or[0]`; empty at the top.
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
