internal import CHiredis

/// Collects the replies of one batch while hiredis reads them. It is behind a pointer that hiredis passes to the
/// callbacks below. They run on the connection's thread, inside `redisReaderGetReply`.
struct ReplyBuilder {
    /// No reply to this program comes near these limits. A larger one means a broken peer, so its connection is closed.
    enum Limits {
        /// The bytes of one string. The reader holds a whole string before it passes it on.
        static let stringBytes = 64 << 20
        /// The elements of one array. Memory for them is reserved when the array's header is read.
        static let arrayElements = 1 << 20
        /// The nodes and bytes of all replies of one batch.
        static let batchNodes = 1 << 23
        static let batchBytes = 512 << 20
    }

    private(set) var bytes: [UInt8] = []
    private(set) var nodes: [ReplyNode] = []
    private(set) var completed = 0
    private(set) var expected = 0
    /// Set when a limit is exceeded, because hiredis itself would report "out of memory".
    private(set) var violation: String?
    private var saysReadOnly = false
    private var errorCodes: [String] = []

    /// Drops everything, and reserves the top-level nodes.
    mutating func begin(replies: Int) {
        self = ReplyBuilder()
        nodes = [ReplyNode](repeating: ReplyNode(), count: replies)
        expected = replies
    }

    mutating func completeOne() { completed += 1 }

    mutating func finish() -> ReplyArena {
        defer { begin(replies: 0) }
        return ReplyArena(bytes: bytes, nodes: nodes, saysReadOnly: saysReadOnly, errorCodes: errorCodes)
    }

    mutating func addText(_ kind: ReplyNode.Kind, _ text: UnsafeRawBufferPointer, at slot: Int) -> Bool {
        guard text.count <= Limits.stringBytes, bytes.count + text.count <= Limits.batchBytes else {
            violation = "more than \(Limits.stringBytes) bytes in a string, or \(Limits.batchBytes) in a batch"
            return false
        }
        nodes[slot] = ReplyNode(position: Int64(bytes.count), count: UInt32(text.count), kind: kind)
        bytes.append(contentsOf: text)
        if kind == .error {
            if text.starts(with: "READONLY".utf8) { saysReadOnly = true }
            if errorCodes.count < 100 {
                // Inside a script a right that is missing has no code of its own.
                let error = RedisError(reply: String(decoding: text.prefix(400), as: UTF8.self))
                if case .server(let code, _) = error { errorCodes.append(code) }
            }
        }
        return true
    }

    mutating func addArray(count: Int, at slot: Int) -> Bool {
        guard (0...Limits.arrayElements).contains(count), nodes.count + count <= Limits.batchNodes else {
            violation = "more than \(Limits.arrayElements) elements in an array, or \(Limits.batchNodes) in a batch"
            return false
        }
        nodes[slot] = ReplyNode(position: Int64(nodes.count), count: UInt32(count), kind: .array)
        nodes.append(contentsOf: repeatElement(ReplyNode(), count: count))
        return true
    }

    mutating func add(_ node: ReplyNode, at slot: Int) -> Bool {
        nodes[slot] = node
        return true
    }

    var firstError: String? {
        nodes.first { $0.kind == .error }.map { node in
            String(decoding: bytes[Int(node.position)..<Int(node.position) + Int(node.count)], as: UTF8.self)
        }
    }

    /// The node index for the value that hiredis reads now. Its "object" is the parent array's node index plus 1.
    fileprivate func slot(_ task: UnsafePointer<redisReadTask>) -> Int? {
        guard let parent = task.pointee.parent else {
            // Nil: the server sends more replies than there were commands.
            return completed < expected ? completed : nil
        }
        let array = nodes[Int(bitPattern: parent.pointee.obj) - 1]
        guard UInt32(task.pointee.idx) < array.count else { return nil }
        return Int(array.position) + Int(task.pointee.idx)
    }
}

extension ReplyBuilder {
    /// The callbacks that hiredis calls for each value, on the connection's thread. If one returns NULL, it gives up.
    static func readerFunctions() -> redisReplyObjectFunctions {
        var functions = redisReplyObjectFunctions()
        functions.createString = { task, text, length in
            withBuilder(task) { builder, slot in
                let kind: ReplyNode.Kind =
                    switch task?.pointee.type {
                    case REDIS_REPLY_ERROR: .error
                    case REDIS_REPLY_STATUS: .status
                    default: .string
                    }
                return builder.pointee.addText(kind, UnsafeRawBufferPointer(start: text, count: Int(length)), at: slot)
            }
        }
        functions.createArray = { task, count in
            withBuilder(task) { builder, slot in builder.pointee.addArray(count: Int(count), at: slot) }
        }
        functions.createInteger = { task, number in
            withBuilder(task) { builder, slot in
                builder.pointee.add(ReplyNode(position: Int64(number), kind: .integer), at: slot)
            }
        }
        functions.createNil = { task in
            withBuilder(task) { builder, slot in builder.pointee.add(ReplyNode(kind: .null), at: slot) }
        }
        // There is nothing to free, because the arena owns everything.
        functions.freeObject = { _ in }
        return functions
    }
}

/// Recovers the builder from the reader's context pointer. The link keeps the builder alive as long as the reader.
@inline(__always) private func withBuilder(
    _ task: UnsafePointer<redisReadTask>?, _ body: (UnsafeMutablePointer<ReplyBuilder>, Int) -> Bool
) -> UnsafeMutableRawPointer? {
    guard let task, let builder = task.pointee.privdata?.assumingMemoryBound(to: ReplyBuilder.self),
        let slot = builder.pointee.slot(task), body(builder, slot)
    else { return nil }
    return UnsafeMutableRawPointer(bitPattern: slot + 1)
}
