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
