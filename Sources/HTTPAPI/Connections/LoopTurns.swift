import NIOCore
import NIOPosix
import Synchronization

/// Limits how many requests that were sent ahead an event loop begins in one turn.
///
/// In a turn an event loop of NIO looks at its sockets once, then runs tasks until none is left. A task begins a
/// request that was sent ahead, and its answer makes the next such task. A hundred connections with hundreds of
/// requests each would keep a loop in one turn for ten seconds, in which it accepts no connection and reads no request.
/// A timer does not help: NIO runs due timers in the same turn.
final class LoopTurns: NIOEventLoopMetricsDelegate {
    /// Some milliseconds of work.
    static let mostBegun = 32
    private let begun = Mutex<[ObjectIdentifier: Int]>([:])

    /// The event loops of all gateways of this process. They are never shut down: a task may outlive its server.
    static let gateways = LoopTurns()
    static let group = MultiThreadedEventLoopGroup(
        numberOfThreads: System.coreCount, metricsDelegate: gateways)

    /// - Returns: false if the loop must look at its sockets first.
    func begin(on eventLoop: any EventLoop) -> Bool {
        begun.withLock { begun in
            let count = begun[ObjectIdentifier(eventLoop), default: 0]
            guard count < Self.mostBegun else { return false }
            begun[ObjectIdentifier(eventLoop)] = count + 1
            return true
        }
    }

    func processedTick(info: NIOEventLoopTickInfo) { ended(info.eventLoopID) }

    /// The turn of this loop is over.
    func ended(_ eventLoop: ObjectIdentifier) { begun.withLock { $0[eventLoop] = 0 } }
}
