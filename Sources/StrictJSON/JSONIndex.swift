import Synchronization

/// The bytes of a document and its values, in order of appearance. All `JSONValue`s of the document share it.
final class JSONIndex: Sendable {
    /// The bytes between two cached places.
    private static let stride = 256

    /// The places of the offsets 0, `stride`, 2 × `stride` …, computed on demand: many errors need only one scan.
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
