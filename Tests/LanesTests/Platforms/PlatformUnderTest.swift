import Delivery
import Lanes
import LiveActivity
import Testing

/// A platform with a server of its own, as the conformance suite sees it. A new platform adds a value to `all`.
struct PlatformUnderTest: Sendable, CustomTestStringConvertible {
    /// What a test may ask for, whatever the platform's server is.
    struct Setup: Sendable {
        var requestTimeout: Duration = .seconds(60)
        var lanes = 1
        /// Streams of a connection once the credential is known to be good.
        var streams = 100
        var faults = PlatformFaults()
    }

    let name: String
    let run: @Sendable (TransportKind, Setup, @Sendable (RunningPlatform) async throws -> Void) async throws -> Void
    var testDescription: String { name }

    static let all = [apns, fakePush, fcm]
}

/// The faults of a server that each platform has. Numbers are those of `RunningPlatform.page`.
struct PlatformFaults: Sendable {
    var dead: Set<Int> = []
    /// Requests of these addresses are never answered.
    var silent: Set<Int> = []
    /// Requests of these addresses are answered four seconds later.
    var slow: Set<Int> = []
    /// Milliseconds before each answer.
    var latency = 0
    /// Every request gets this answer.
    var refusal: PlatformRefusal?
    /// Seconds of `Retry-After` with a refusal.
    var retryAfter: Int?
    /// Each connection gets a GOAWAY at this request. Requests that have arrived are answered.
    var goawayAfter: Int?
    /// The credential in use counts as expired.
    var expiresCredential = false

    static let slowMilliseconds = 4_000
}

enum PlatformRefusal: Sendable, CaseIterable {
    /// 429
    case tooMany
    /// 503
    case unavailable
    /// The credential is not one of the platform's.
    case credential
    /// The push is wrong for every address.
    case push
}

/// What a server has seen.
struct PlatformRecord: Sendable, Hashable {
    var requests = 0
    var accepted = 0
    /// Acceptances of a push that the address had accepted before.
    var duplicates = 0
    /// Answers about a credential.
    var refusedCredentials = 0
    var maximumInFlight = 0
    var goaways = 0
}

struct RunningPlatform: Sendable {
    let transport: any PushTransport
    /// A push with the number in its body.
    let push: @Sendable (Int) -> PreparedPush
    let address: @Sendable (Int) -> [UInt8]
    let record: @Sendable () -> PlatformRecord
    let setFaults: @Sendable (PlatformFaults) throws -> Void
    /// What the answer to a dead address asks for.
    let deadVerdict: Verdict
    /// What a 429 asks for.
    let tooManyVerdict: Verdict
    /// What no trace may show: the addresses and credentials of the run, whole.
    let secrets: @Sendable () -> [String]

    func page(_ numbers: Range<Int>) -> TokenPage {
        var page = TokenPage()
        for number in numbers { page.append(channel: [1], token: address(number), registeredAt: 0) }
        return page
    }

    func send(_ numbers: Range<Int>, push number: Int = 1) async -> PageOutcome {
        await transport.send(page(numbers), push(number))
    }

    /// Sends a page that is taken back while some requests are open.
    func sendOpen(_ numbers: Range<Int>) async -> PageOutcome {
        await transport.send(page(numbers), push(1), while: AlwaysPermitted(), Handover())
    }
}
