/// Limits that no reply to this program comes near. A larger reply means a broken peer, so its connection is closed.
struct ReplyLimits: Sendable {
    /// The bytes of one string. The reader holds a whole string before it passes it on.
    var stringBytes = 64 << 20
    /// The elements of one array. Memory for them is reserved when the array's header is read.
    var arrayElements = 1 << 20
    /// The nodes and bytes of all replies of one batch.
    var batchNodes = 1 << 23
    var batchBytes = 512 << 20
}
