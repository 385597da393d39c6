import Dispatch
import Glibc
import Synchronization

/// Tells of signals from the moment at which it is asked to. A signal source of libdispatch begins to listen a moment
/// later: a signal in between would end the process, or be lost if it is ignored meanwhile.
///
/// A handler writes the signal's number into a pipe, which keeps it until the queue reads it.
final class Signals: Sendable {
    private static let shared = Signals()
    private let listeners = Mutex<[Int32: @Sendable () -> Void]>([:])
    /// Made once and never touched again: no lock is needed.
    private nonisolated(unsafe) let source: any DispatchSourceRead

    private init() {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { fatalError("no descriptors for the pipe of signals") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // A handler must not wait, whatever happens to the queue.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        let end = ends[0]
        signalPipe.store(ends[1], ordering: .relaxed)
        source = DispatchSource.makeReadSource(fileDescriptor: end, queue: DispatchQueue(label: "signals"))
        source.setEventHandler { [self] in
            var numbers = [UInt8](repeating: 0, count: 64)
            let count = max(0, read(end, &numbers, numbers.count))
            for number in numbers[..<count] { listeners.withLock { $0[Int32(number)] }?() }
        }
        source.activate()
    }

    /// Calls `listener` for each signal of this number from now on, in place of an earlier listener.
    static func listen(to number: Int32, _ listener: @escaping @Sendable () -> Void) {
        shared.listeners.withLock { $0[number] = listener }
        signal(number, noteSignal)
    }

    /// Lets signals of this number pass without effect.
    static func ignore(_ number: Int32) { shared.listeners.withLock { $0[number] = nil } }
}

/// Where `noteSignal` writes.
private let signalPipe = Atomic<Int32>(-1)

/// Runs inside of whatever a thread was doing, so it may neither lock nor allocate.
private func noteSignal(_ number: Int32) {
    let before = errno
    var byte = UInt8(truncatingIfNeeded: number)
    write(signalPipe.load(ordering: .relaxed), &byte, 1)
    errno = before
}
