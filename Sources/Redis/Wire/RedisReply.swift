/// One reply: a view into the arena of its pipeline. The reply and slices from `bytes()` keep the arena alive.
public struct RedisReply: Sendable {
    private let arena: ReplyArena
    private let node: ReplyNode

    init(_ arena: ReplyArena, _ index: Int) {
        self.arena = arena
        node = arena.nodes.indices.contains(index) ? arena.nodes[index] : ReplyNode()
    }

    private init(_ arena: ReplyArena, node: ReplyNode) { (self.arena, self.node) = (arena, node) }

    public var isNil: Bool { node.kind == .null }
    public var error: RedisError? { node.kind == .error ? RedisError(reply: text) : nil }

    /// How many elements an array has. 0 for anything else.
    public var count: Int { node.kind == .array ? Int(node.count) : 0 }

    /// An element of an array. If there is none, a reply that is not nil and whose accessors throw.
    public subscript(index: Int) -> RedisReply {
        RedisReply(arena, node: (0..<count).contains(index) ? arena.nodes[Int(node.position) + index] : ReplyNode())
    }

    /// A part of an array, as an array. Anything else stays as it is.
    public func part(_ range: Range<Int>) -> RedisReply {
        guard node.kind == .array else { return self }
        let range = range.clamped(to: 0..<count)
        let first = node.position + Int64(range.lowerBound)
        return RedisReply(arena, node: ReplyNode(position: first, count: UInt32(range.count), kind: .array))
    }

    // Typed accessors. They throw `unexpectedReply` for another type, and `server` for an error reply.

    /// An integer, or a string that holds one in decimal, because Redis keeps hash fields as text.
    public func integer() throws(RedisError) -> Int {
        if node.kind == .integer { return Int(node.position) }
        guard isText, let number = Int(text) else { throw mismatch("an integer") }
        return number
    }

    /// The bytes of a string or status, as a slice of the arena.
    public func bytes() throws(RedisError) -> ArraySlice<UInt8> {
        guard isText else { throw mismatch("a string") }
        return slice
    }

    /// A string as UTF-8 text.
    public func string() throws(RedisError) -> String {
        guard let text = String(validating: try bytes(), as: UTF8.self) else {
            throw .unexpectedReply("a string that is not UTF-8")
        }
        return text
    }

    public func array() throws(RedisError) -> [RedisReply] {
        guard node.kind == .array else { throw mismatch("an array") }
        return (0..<Int(node.count)).map { self[$0] }
    }

    /// Calls `body` for each field and value of an array that is a flat map (HGETALL).
    ///
    /// The views are valid only during the call, and nothing is retained or allocated for them.
    public func forEachPair(
        _ body: (_ field: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Void
    ) throws(RedisError) {
        guard node.kind == .array else { throw mismatch("an array") }
        let (first, count) = (Int(node.position), Int(node.count))
        let isMap = arena.bytes.withUnsafeBytes { bytes in
            arena.nodes.withUnsafeBufferPointer { nodes in
                func text(_ index: Int) -> UnsafeRawBufferPointer? {
                    let node = nodes[index]
                    guard node.kind == .string else { return nil }
                    let start = Int(node.position)
                    return UnsafeRawBufferPointer(rebasing: bytes[start..<start + Int(node.count)])
                }
                for index in stride(from: first, to: first + count - 1, by: 2) {
                    guard let field = text(index), let value = text(index + 1) else { return false }
                    body(field, value)
                }
                return true
            }
        }
        guard isMap, count.isMultiple(of: 2) else { throw .unexpectedReply("expected fields and values") }
    }

    /// Calls `body` for each number of an array of integers.
    public func forEachInteger(_ body: (_ index: Int, _ number: Int) -> Void) throws(RedisError) {
        guard node.kind == .array else { throw mismatch("an array") }
        let nodes = arena.nodes[Int(node.position)..<Int(node.position) + Int(node.count)]
        for (index, node) in nodes.enumerated() {
            guard node.kind == .integer else { throw .unexpectedReply("expected integers") }
            body(index, Int(node.position))
        }
    }

    public func infoFields() throws(RedisError) -> [String: String] {
        var fields: [String: String] = [:]
        for line in try string().split(whereSeparator: \.isNewline) where !line.hasPrefix("#") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            fields[String(line[..<colon])] = String(line[colon...].dropFirst())
        }
        return fields
    }

    private var isText: Bool { node.kind == .string || node.kind == .status }

    private var slice: ArraySlice<UInt8> { arena.bytes[Int(node.position)..<Int(node.position) + Int(node.count)] }

    private var text: String { String(decoding: slice, as: UTF8.self) }

    private func mismatch(_ expected: String) -> RedisError {
        if let error { return error }
        let found =
            switch node.kind {
            case .missing: "no such element"
            case .null: "nil"
            case .integer: "an integer"
            case .string, .status: "a string of \(node.count) bytes"
            case .error: "an error"
            case .array: "an array of \(node.count)"
            }
        return .unexpectedReply("expected \(expected), got \(found)")
    }
}

extension RedisReply {
    /// The reply that Redis gives for a missing value.
    static let null = RedisReply(ReplyArena(bytes: [], nodes: [ReplyNode(kind: .null)]), 0)

    /// Makes an error reply that no server sent.
    init(error text: String) {
        let node = ReplyNode(position: 0, count: UInt32(text.utf8.count), kind: .error)
        self.init(ReplyArena(bytes: Array(text.utf8), nodes: [node]), 0)
    }
}

/// The first replies of one arena.
extension ReplyArena { func replies(_ count: Int) -> [RedisReply] { (0..<count).map { RedisReply(self, $0) } } }
