public import Answers
public import LiveActivity
import StrictJSON

/// The console's way to the gateway, and to Redis behind it. The console sees and changes an app through the calls of
/// the API, so each page shows what the API answers, and each change is checked, counted and refused as the API would.
/// `AppState` and `ConsoleRecords`, which no call of the API is about, come through here too.
public struct ConsoleGateway: Sendable {
    public typealias SignIn =
        @Sendable (_ key: String, _ secret: String, _ now: Int64) async throws -> ConsoleIdentity?
    public typealias State = @Sendable (ConsoleIdentity, _ withQueue: Bool) async -> AppState
    public typealias Acknowledge =
        @Sendable (ConsoleIdentity, AppState.Alarm, _ isKnown: Bool, _ now: Int64) async throws -> Void

    /// The identity that a key and a secret open, at a time in epoch ms. Nil if they do not belong together. Throws
    /// `EndedSecret`.
    public var signIn: SignIn
    /// The identity with the rights that its credential has now, epoch ms. Nil: the credential is not any more what it
    /// was at the sign-in.
    public var standing: @Sendable (ConsoleIdentity, _ now: Int64) async throws -> ConsoleIdentity?
    public var call: @Sendable (ConsoleIdentity, ConsoleCall) async -> ConsoleAnswer
    /// The ways to sign in beside `signIn`.
    public var ways: [SignInWay]
    public var state: State
    /// Notes that somebody knows of an alarm, or takes that back. Takes epoch ms.
    public var acknowledge: Acknowledge
    public var records: any ConsoleRecords
    /// The words of the log of actions, in the order of a choice.
    public var actions: [String]
    /// Redis's clock, epoch ms.
    public var now: @Sendable () -> Int64
    /// An error of these in words: a refusal, or Redis. Nil: it is neither.
    public var problem: @Sendable (any Error) -> (status: Int, message: String)?
    /// The platforms that an app sends to.
    public var platforms: @Sendable (AppKey) -> Set<Platform>

    public init(
        signIn: @escaping SignIn,
        standing: @escaping @Sendable (ConsoleIdentity, _ now: Int64) async throws -> ConsoleIdentity?,
        call: @escaping @Sendable (ConsoleIdentity, ConsoleCall) async -> ConsoleAnswer,
        ways: [SignInWay], state: @escaping State,
        acknowledge: @escaping Acknowledge, records: any ConsoleRecords, actions: [String],
        now: @escaping @Sendable () -> Int64,
        problem: @escaping @Sendable (any Error) -> (status: Int, message: String)?,
        platforms: @escaping @Sendable (AppKey) -> Set<Platform> = { _ in [.ios] }
    ) {
        (self.signIn, self.standing, self.call, self.ways) = (signIn, standing, call, ways)
        (self.state, self.acknowledge, self.records) = (state, acknowledge, records)
        (self.actions, self.now, self.problem, self.platforms) = (actions, now, problem, platforms)
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
    /// The word of the log of actions, if it is not the call's own word.
    public var action: String?
    /// The browser's.
    public var address: String
    /// Epoch milliseconds.
    public var now: Int64
}

/// The API's answer. A page takes its value as it is. It is not written and read as JSON in between.
public struct ConsoleAnswer: Sendable {
    public var status: Int
    /// Nil: the body is somebody's text, or there is none.
    fileprivate let value: (any AnswerBody)?
    private let bytes: [UInt8]

    public init(status: Int, body: [UInt8]) { (self.status, value, bytes) = (status, nil, body) }
    public init(status: Int, value: any AnswerBody) { (self.status, self.value, bytes) = (status, value, []) }

    /// As on the wire.
    public var body: [UInt8] { value?.answerJSON.bytes ?? bytes }
}

extension AnswerBody {
    init(_ answer: ConsoleAnswer) throws(JSONError) {
        if let value = answer.value as? Self { self = value } else { self = try Self(answer: answer.body) }
    }
}
