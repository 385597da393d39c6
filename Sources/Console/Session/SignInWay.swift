/// A way to sign in to the console without a secret, which a feature adds. `ConsoleGateway.ways` lists them.
public struct SignInWay: Sendable {
    public typealias Page = @Sendable (Console, ConsoleRequest, ConsoleSession?) async throws -> ConsoleResponse
    public typealias Link = @Sendable (_ app: String?, _ next: String) -> (name: String, path: String)?

    /// The pages that need no session, by path.
    let pages: [String: Page]
    /// The button on the sign-in page, to this app and page. Nil: there is none now.
    let link: Link
    /// A person's identity with the rights that it has at a time in epoch ms. Nil: the person came another way, or is
    /// signed out.
    public let standing: @Sendable (ConsoleIdentity, _ now: Int64) -> ConsoleIdentity?

    public init(
        pages: [String: Page], link: @escaping Link,
        standing: @escaping @Sendable (ConsoleIdentity, _ now: Int64) -> ConsoleIdentity?
    ) {
        (self.pages, self.link, self.standing) = (pages, link, standing)
    }
}
