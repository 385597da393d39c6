internal import CLinux
internal import Glibc

/// An epoll descriptor, which tells a thread which of its descriptors are ready. It is level-triggered. One thread
/// adds, removes and waits. `deinit` closes it, and then it watches nothing.
public final class EventPoll: Sendable {
    public struct Interest: OptionSet, Sendable {
        public let rawValue: UInt32
        public init(rawValue: UInt32) { self.rawValue = rawValue }
        public static let read = Interest(rawValue: EPOLLIN.rawValue)
        public static let write = Interest(rawValue: EPOLLOUT.rawValue)
    }

    /// How many descriptors one call reports. The next call reports the others.
    private static let capacity = 16
    private let descriptor: Int32

    /// Opens an epoll descriptor. Nil when the process is out of descriptors.
    public init?() {
        descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Adds a descriptor. Errors and hang-ups are always reported.
    /// - Returns: false when the kernel refuses
    public func add(_ other: Int32, _ interest: Interest) -> Bool {
        clinux_epoll_control(descriptor, EPOLL_CTL_ADD, other, interest.rawValue) == 0
    }

    public func change(_ other: Int32, _ interest: Interest) {
        _ = clinux_epoll_control(descriptor, EPOLL_CTL_MOD, other, interest.rawValue)
    }

    /// Removes a descriptor; call it before the descriptor is closed.
    public func remove(_ other: Int32) { _ = clinux_epoll_control(descriptor, EPOLL_CTL_DEL, other, 0) }

    /// Blocks until a descriptor is ready or `milliseconds` have passed (0: does not block). Visits each ready one.
    public func wait(milliseconds: Int32, _ visit: (Int32) -> Void) {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.capacity) { events in
            guard let start = events.baseAddress else { return }
            let count = epoll_wait(descriptor, start, Int32(Self.capacity), milliseconds)
            guard count > 0 else { return }
            for index in 0..<Int(count) { visit(clinux_event_descriptor(start + index)) }
        }
    }
}
