internal import CLinux
internal import Glibc

/// An eventfd. Any thread signals it; one thread polls the descriptor and clears it. `deinit` closes it, so the polling
/// thread must hold it.
public final class WakeEvent: Sendable {
    public let descriptor: Int32

    /// Opens an eventfd descriptor. Nil when the process is out of descriptors.
    public init?() {
        descriptor = clinux_eventfd()
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }
    public func signal() { eventfd_write(descriptor, 1) }

    /// False if nothing was signalled.
    @discardableResult
    public func clear() -> Bool {
        var count: eventfd_t = 0
        return eventfd_read(descriptor, &count) == 0
    }
}
