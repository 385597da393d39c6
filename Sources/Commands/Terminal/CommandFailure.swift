import APNsClient
import Curl
import Redis
import Settings
import Store

/// Ends a command with an exit code other than 0. The message is empty if the reason was already printed.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String
    /// The status and the words with which the gateway refused a call.
    var refusal: (status: Int, reason: String)?

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The text and exit code of an error. Nil for errors of the argument parser, which has its own messages and exit
    /// codes.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as SettingsError: self.init(.configuration, error.description)
        case StoreError.redis(let error): self.init(error)
        case StoreError.corrupt(let what):
            let remedy = "is this Redis shared with another program? Give each its own, or its own redis.prefix"
            self.init(.failed, "Redis holds \(what) that no version of Lamplighter wrote; \(remedy)")
        case StoreError.overtaken:
            self.init(.failed, "others changed the same registrations all the time; try again")
        case StoreError.otherFormat(let found, let known):
            let other = OtherFormat(found: found, known: known)
            self.init(.configuration, "Redis holds \(other.words): \(other.remedy)")
        case let error as RedisError: self.init(error)
        case let error as HTTPFailure: self.init(.unreachable, error.description)
        case let error as APNsClientError: self.init(error.isRetriable ? .failed : .configuration, error.description)
        case let error as any ExitingError: self = error.failure
        case is CancellationError: self.init(.failed, "interrupted")
        default: return nil
        }
    }

    init(_ error: RedisError) {
        let status: ExitStatus =
            switch error {
            case .unreachable, .lost, .closed: .unreachable
            case .insecure: .configuration
            case .server(let code, _) where Self.unreadyCodes.contains(code): .unreachable
            case .server(let code, _) where Self.misconfiguredCodes.contains(code): .configuration
            case .server, .unexpectedReply, .unroutable: .failed
            }
        self.init(status, error.description)
    }

    private static let unreadyCodes: Set = ["LOADING", "MASTERDOWN", "CLUSTERDOWN", "FAILOVER"]
    private static let misconfiguredCodes: Set = [
        "NOAUTH", "WRONGPASS", "NOPERM", "UNSUPPORTED", "READONLY", "MOVED", "NOADDRESS", "NOCLUSTER", "NOPROTO",
        "NOMASTER",
    ]
}

extension CommandFailure {
    static func cannotListen(at host: String, _ port: Int, _ why: String) -> CommandFailure {
        let place = Settings.authority(host, port)
        return CommandFailure(
            .failed, "cannot listen on \(place): \(why); choose another port, or an address of this machine")
    }
}

/// The exit codes for a shell or a supervisor. The values are from sysexits.h.
enum ExitStatus: Int32 {
    case done = 0
    case failed = 1
    case usage = 64
    case unreachable = 69
    case configuration = 78
}

extension ExitStatus {
    /// The help of a command that can wait for a push.
    static let ofWait = """
        With --wait the exit code is 1 if the push reached nobody, failed or expired for more targets than got it, or \
        ended as failed, expired or cancelled. It is 0 if a newer push superseded it.
        """
}
