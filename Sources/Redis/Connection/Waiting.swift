internal import Glibc

extension timeval {
    init(_ duration: Duration) {
        let parts = max(duration, .milliseconds(1)).components
        self.init(tv_sec: Int(clamping: parts.seconds), tv_usec: Int(parts.attoseconds / 1_000_000_000_000))
    }
}

/// Waits for the descriptors' events. Nil waits without end. An interrupted wait counts as one without events.
func wait(for descriptors: inout [pollfd], timeout: Duration?) {
    var milliseconds: Int32 = -1
    if let timeout {
        let parts = max(timeout, .zero).components
        // Round up, so that the deadline has passed when the wait ends.
        let whole = parts.seconds.multipliedReportingOverflow(by: 1_000)
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        milliseconds = whole.overflow ? .max : Int32(clamping: whole.partialValue + rest)
    }
    let count = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    if count <= 0 { for index in descriptors.indices { descriptors[index].revents = 0 } }
}

extension Mailbox {
    /// Waits for one descriptor's events. Throws when the mailbox closes. Only the connection's thread may call it.
    func wait(
        for descriptor: Int32, _ events: Int16, until deadline: ContinuousClock.Instant
    ) throws(LinkFailure) -> Int16 {
        var descriptors = [
            pollfd(fd: descriptor, events: events, revents: 0),
            pollfd(fd: wakeDescriptor, events: Int16(POLLIN), revents: 0),
        ]
        Redis.wait(for: &descriptors, timeout: ContinuousClock().now.duration(to: deadline))
        if descriptors[1].revents != 0 {
            clearSignal()
            if isClosing { throw .broken("the client was closed") }
        }
        return descriptors[0].revents
    }
}
