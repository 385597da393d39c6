/// All replies of one batch, in one byte buffer and one array of nodes. Every `RedisReply` of the batch shares them.
/// The first nodes are the batch's top-level replies, in order.
final class ReplyArena: Sendable {
    let bytes: [UInt8]
    let nodes: [ReplyNode]
    /// Whether the server refused a write because it is a replica.
    let saysReadOnly: Bool
    /// The first words of error replies, at most a few.
    let errorCodes: [String]

    init(bytes: [UInt8], nodes: [ReplyNode], saysReadOnly: Bool = false, errorCodes: [String] = []) {
        (self.bytes, self.nodes) = (bytes, nodes)
        (self.saysReadOnly, self.errorCodes) = (saysReadOnly, errorCodes)
    }
}

/// One value of a reply, in 16 bytes.
/// `position` depends on the kind. For an integer it is the number itself, and for text an offset into the arena's
/// bytes. For an array it is the index of its first element, and `count` elements follow each other.
struct ReplyNode: Sendable {
    enum Kind: UInt8, Sendable {
        /// Reserved but not read yet. In a finished arena it stands for an index beyond an array's end.
        case missing
        case null, integer, string, status, error, array
    }
    var position: Int64 = 0
    var count: UInt32 = 0
    var kind = Kind.missing
}
