internal import CLinux
internal import Glibc

/// A detached thread with a name that `top -H` and debuggers show. Blocking C calls run on these threads, never on the
/// cooperative pool. The thread blocks all signals. So SIGTERM goes to the main thread, and a write to a closed socket
/// returns an error code instead of SIGPIPE.
public enum NamedThread {
    /// Runs `body` on a new thread. Linux keeps 15 bytes of the name.
    /// - Returns: false when the system refuses another thread
    public static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let retained = Unmanaged.passRetained(ThreadBody(name: name, run: body))
        var thread = pthread_t()
        guard pthread_create(&thread, nil, runThread, retained.toOpaque()) == 0 else {
            retained.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}

private final class ThreadBody: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(name: String, run: @escaping @Sendable () -> Void) { (self.name, self.run) = (name, run) }
}

/// Runs on the new thread. It takes over the reference that `start` retained for it.
private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let body = Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
    var signals = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    _ = clinux_name_thread(body.name)
    body.run()
    return nil
}
