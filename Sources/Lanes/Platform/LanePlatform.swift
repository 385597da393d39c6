public import Delivery

/// A platform, as its lanes know it. A push says the rest: its path, its header fields and the form of its body.
public struct LanePlatform: Sendable {
    public var name: PlatformName
    public var credentials: any CredentialSource
    /// Makes a rejection of an answer other than 200. A lane calls it on its thread, so it must not block.
    public var rejection: @Sendable (LaneAnswer) -> Rejection

    public init(
        _ name: PlatformName, credentials: any CredentialSource,
        rejection: @escaping @Sendable (LaneAnswer) -> Rejection
    ) {
        (self.name, self.credentials, self.rejection) = (name, credentials, rejection)
    }
}

public struct PlatformName: Sendable, Hashable {
    /// In the names of metrics and threads: `apns`.
    public var label: String
    /// In texts for people: `APNs`.
    public var title: String

    public init(label: String, title: String) { (self.label, self.title) = (label, title) }
}

/// An answer other than 200, as far as a lane keeps it.
public struct LaneAnswer {
    public var status: Int
    /// The first kibibytes of the body. They are valid during the call.
    public var body: UnsafeRawBufferPointer
    /// `Retry-After` in seconds, at most an hour. Nil without the field, or if it cannot be read.
    public var retryAfter: Int?

    public init(status: Int, body: UnsafeRawBufferPointer, retryAfter: Int?) {
        (self.status, self.body, self.retryAfter) = (status, body, retryAfter)
    }

    /// Whether the server doubts the credential. Such an answer does not show that the credential is good.
    static func isAboutCredentials(_ status: Int) -> Bool { status == 401 || status == 403 }
}
