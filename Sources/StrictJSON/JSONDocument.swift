/// One JSON text (RFC 8259), fully checked, and kept as its bytes with a flat index, so errors name the exact place.
/// It is stricter than the RFC where parsers disagree: no byte order mark, no lone surrogates, limited depth. Keys may
/// repeat, but `JSONValue.object()` refuses such an object. A value that is passed on unread keeps its repeated keys.
public struct JSONDocument: Sendable {
    /// The most levels of nested containers. The parser uses no recursion, so this limit is for callers.
    public static let defaultMaximumDepth = 64
    let index: JSONIndex

    public init(_ bytes: [UInt8], maximumDepth: Int = defaultMaximumDepth) throws(JSONError) {
        var parser = JSONParser(bytes: bytes, maximumDepth: maximumDepth)
        index = try parser.parse()
    }

    /// The most bytes that the index of a text takes, whether it is JSON or not. A caller can count them before it
    /// parses: an array of zeros has an index of 18 times its size.
    public static func indexBytes(of bytes: [UInt8]) -> Int {
        JSONParser.mostNodes(bytes) * MemoryLayout<JSONIndex.Node>.stride
    }

    /// The most bytes that the index of a text of this length takes.
    public static func indexBytes(ofLength count: Int) -> Int {
        JSONParser.mostNodes(ofLength: count) * MemoryLayout<JSONIndex.Node>.stride
    }

    public init(_ text: String, maximumDepth: Int = defaultMaximumDepth) throws(JSONError) {
        try self.init(Array(text.utf8), maximumDepth: maximumDepth)
    }

    public var root: JSONValue { JSONValue(index: index, number: 0) }
}
