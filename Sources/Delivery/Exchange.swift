/// One request to a platform for a token and its answer, without secrets: the credential and the device's address
/// are shortened.
public struct Exchange: Sendable, Hashable {
    public struct Field: Sendable, Hashable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public enum Outcome: Sendable, Hashable {
        /// The platform answered, with these header fields. The reason is empty with a 200.
        case answered(status: Int, reason: String, fields: [Field])
        /// There is no answer. The word is a `NoAnswer.Cause`, or `Unprocessed`, after which the request is sent again.
        case unanswered(String)
    }

    /// `https://host[:port]`
    public var origin: String
    /// With the first characters of the address, if it has the address.
    public var path: String
    /// The request's header fields, in their order.
    public var fields: [Field]
    public var payload: [UInt8]
    /// When the request was handed to a connection, epoch ms.
    public var sentAt: Int64
    /// When the lane had its outcome, epoch ms.
    public var endedAt: Int64
    public var outcome: Outcome

    public init(
        origin: String, path: String, fields: [Field], payload: [UInt8], sentAt: Int64, endedAt: Int64,
        outcome: Outcome
    ) {
        (self.origin, self.path, self.fields, self.payload) = (origin, path, fields, payload)
        (self.sentAt, self.endedAt, self.outcome) = (sentAt, endedAt, outcome)
    }

    /// How many characters of a secret are shown: enough to compare it with a log, and useless for anything else.
    public static let shownCharacters = 8

    public static func shortened(_ secret: String) -> String { "\(secret.prefix(shownCharacters))…" }

    /// APNs's id of the notification, if it answered.
    public var apnsID: String? {
        guard case .answered(_, _, let fields) = outcome else { return nil }
        return fields.first { $0.name == "apns-id" }?.value
    }
}
