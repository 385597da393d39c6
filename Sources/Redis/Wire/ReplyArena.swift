/// All replies of one batch, in one byte buffer and one array of nodes. Every `RedisReply` of the batch shares them.
/// The first nodes are the batch's top-level replies, in order.
final class ReplyArena: Sendable {
    let bytes: [UInt8]
    let nodes: [ReplyNode]
    /// Whether the server refused a write because it is a replica.
    let saysReadOnly: Bool

    init(bytes: [UInt8], nodes: [ReplyNode], saysReadOnly: Bool = false) {
        (self.bytes, self.nodes, self.saysReadOnly) = (bytes, nodes, saysReadOnly)
    }
}
