/// The request that each entry of a page gets, rendered once by the platform of the push. A lane adds the entry's
/// address and the credential. A form that all requests share costs nothing for each of them.
public struct PreparedPush: Sendable, Hashable {
    public enum Path: Sendable, Hashable {
        /// The path of every request.
        case shared(String)
        /// This text, and then the entry's address in hexadecimal.
        case hexAddress(after: String)
    }

    public enum Body: Sendable, Hashable {
        /// The body of every request.
        case shared([UInt8])
        /// Each request has a body of its own, of these pieces.
        case ofEntry([Piece])
    }

    /// A piece of a body that each entry has for itself. An address is written as it is, so the platform has made sure,
    /// when it took the address, that the address needs no escape.
    public enum Piece: Sendable, Hashable {
        case bytes([UInt8])
        /// The entry's address.
        case address
        /// The address of a platform with several kinds of them: the bytes for its first byte, and then its rest.
        case addressByKind([UInt8: [UInt8]])
        /// The id of the entry's channel, as the inside of a JSON string.
        case channel
        /// A dash and the time of the entry's registration, epoch milliseconds, if that is after this time.
        case registration(after: Int64)
        /// The whole seconds until this time, rounded up, at least 0 and at most so many. The time is `bootClock`
        /// milliseconds.
        case secondsLeft(until: Int64, atMost: Int)
    }

    public var path: Path
    /// The header fields in the order in which they are sent, without the credential.
    public var fields: [Exchange.Field]
    public var body: Body
    /// The body for entries with the route `variant`. Nil: the push has no variant.
    public var variantBody: Body?
    /// Why the push fails at each address without a request. Nil: it can be sent.
    public var refusal: String?
    /// Receives a copy of each request and answer of the page. Nil if the push has no trace.
    public var trace: ExchangeRecorder?

    public init(path: Path, fields: [Exchange.Field], body: Body) {
        (self.path, self.fields, self.body) = (path, fields, body)
    }
}
