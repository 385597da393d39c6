internal import Glibc
internal import Threads

extension timeval {
    init(_ duration: Duration) {
        let parts = max(duration, .milliseconds(1)).components
        self.init(tv_sec: Int(clamping: parts.seconds), tv_usec: Int(parts.attoseconds / 1_000_000_000_000))
    }
}

extension Mailbox {
    /// Waits for one descriptor's events or for a signal, which this clears. Only the connection's thread may call it.
    /// - Parameter descriptor: -1: wait for a signal alone.
    /// - Parameter timeout: nil: wait without end.
    /// - Returns: the descriptor's events. An interrupted wait counts as one without events.
    func wait(for descriptor: Int32 = -1, _ events: Int16 = 0, timeout: Duration?) -> Int16 {
        var milliseconds: Int32 = -1
        if let timeout {
            let parts = max(timeout, .zero).components
            // Round up, so that the deadline has passed when the wait ends.
            let whole = parts.seconds.multipliedReportingOverflow(by: 1_000)
            let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
            milliseconds = whole.overflow ? .max : Int32(clamping: whole.partialValue + rest)
        }
        var descriptors = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: wakeUp?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&descriptors, nfds_t(descriptors.count), milliseconds) > 0 else { return 0 }
        // Clear before the caller takes the batches: the next wait sees a signal that comes after this line.
        if descriptors[1].revents != 0 { wakeUp?.clear() }
        return descriptors[0].revents
    }

    /// The same, but throws when the mailbox closes.
    func wait(
        for descriptor: Int32, _ events: Int16, until deadline: ContinuousClock.Instant
    ) throws(LinkFailure) -> Int16 {
        let arrived = wait(for: descriptor, events, timeout: ContinuousClock().now.duration(to: deadline))
        if isClosing { throw .broken("the client was closed") }
        return arrived
    }
}
