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
        /// The entry's address between these bytes. It is written as it is, so the platform has made sure, when it took
        /// the address, that the address needs no escape.
        case aroundAddress([UInt8], [UInt8])
    }

    public var path: Path
    /// The header fields in the order in which they are sent, without the credential.
    public var fields: [Exchange.Field]
    public var body: Body
    /// The body for entries with the route `variant`. Nil: the push has no variant.
    public var variantBody: Body?
    /// Receives a copy of each request and answer of the page. Nil if the push has no trace.
    public var trace: ExchangeRecorder?

    public init(path: Path, fields: [Exchange.Field], body: Body) {
        (self.path, self.fields, self.body) = (path, fields, body)
    }
}
