/// Why a command has no usable reply. Never holds arguments: they may be tokens or secrets.
public enum RedisError: Error, Sendable, Hashable {
    /// No connection could be made or it was refused; nothing was executed.
    case unreachable(String)
    /// The connection broke or timed out after the command was written: it may have been executed.
    case lost(String)
    /// Redis answered with an error: its first word (`LOADING`, `OOM`, `WRONGTYPE`, `READONLY`, …) and the whole message.
    case server(code: String, message: String)
    /// A reply of another type, size or form than the command promises.
    case unexpectedReply(String)
    /// The client was closed.
    case closed
}
