import APNsSimulator
import Curl
import Redis
import Settings
import Store

/// Why a command ends with another code than 0. The message is for the person at the terminal; empty = already said.
struct CommandFailure: Error {
    var status: ExitStatus
    var message: String

    init(_ status: ExitStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// Nil for errors of the argument parser, which has words and codes of its own.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as SettingsError: self.init(.configuration, error.description)
        case StoreError.redis(let error): self.init(error)
        case StoreError.corrupt(let what):
            self.init(.failed, "Redis holds \(what) that no version of Lamplighter wrote")
        case let error as RedisError: self.init(error)
        case let error as HTTPFailure: self.init(.unreachable, error.description)
        case is CancellationError: self.init(.failed, "interrupted")
        default: return nil
        }
    }

    init(_ error: RedisError) {
        switch error {
        case .unreachable(let reason): self.init(.unreachable, "Redis is not reachable: \(reason)")
        case .lost(let reason): self.init(.unreachable, "the connection to Redis broke: \(reason)")
        case .closed: self.init(.unreachable, "the connection to Redis was closed")
        case .server(let code, let message):
            let status: ExitStatus = ["LOADING", "MASTERDOWN", "CLUSTERDOWN"].contains(code) ? .unreachable : .failed
            self.init(["NOAUTH", "WRONGPASS"].contains(code) ? .configuration : status, "Redis answered: \(message)")
        case .unexpectedReply(let what): self.init(.failed, "Redis answered something unexpected: \(what)")
        }
    }
}
