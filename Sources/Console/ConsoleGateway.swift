/// The console's way to the gateway. It sees and changes an app through the calls of the API, so each page shows what
/// the API answers, and each change is checked, counted and refused as the API would. The state of the deployment on
/// Home (`Store.snapshot`) and the console's own templates have no call.
public struct ConsoleGateway: Sendable {
    public typealias SignIn =
        @Sendable (_ key: String, _ secret: String, _ now: Int64) async throws -> ConsoleIdentity?

    /// The identity that a key and a secret open, at a time in epoch ms. Nil if they do not belong together. Throws
    /// `EndedSecret`.
    public var signIn: SignIn
    /// The identity with the rights that its credential has now, epoch ms. Nil: the credential is not any more what it
    /// was at the sign-in.
    public var standing: @Sendable (ConsoleIdentity, _ now: Int64) async throws -> ConsoleIdentity?
    public var call: @Sendable (ConsoleIdentity, ConsoleCall) async -> ConsoleAnswer
    /// The provider by which people sign in. Nil: there is none.
    public var provider: @Sendable () -> ConsoleProvider?

    public init(
        signIn: @escaping SignIn,
        standing: @escaping @Sendable (ConsoleIdentity, _ now: Int64) async throws -> ConsoleIdentity?,
        call: @escaping @Sendable (ConsoleIdentity, ConsoleCall) async -> ConsoleAnswer,
        provider: @escaping @Sendable () -> ConsoleProvider?
    ) {
        (self.signIn, self.standing, self.call, self.provider) = (signIn, standing, call, provider)
    }
}

/// A secret that is right and not good any more.
public struct EndedSecret: Error {
    public var message: String
    public init(message: String) { self.message = message }
}

/// A call of the API.
public struct ConsoleCall: Sendable {
    public var method: String
    /// Percent-encoded, as in a request.
    public var path: String
    public var query: String
    public var body: [UInt8]
    public var idempotencyKey: String?
    /// The browser's.
    public var address: String
    /// Epoch milliseconds.
    public var now: Int64
}

/// The API's answer.
public struct ConsoleAnswer: Sendable {
    public var status: Int
    public var body: [UInt8]

    public init(status: Int, body: [UInt8]) { (self.status, self.body) = (status, body) }
}
