import Glibc
import ServiceLifecycle

/// The service manager that started the process, such as systemd with `Type=notify`. It takes datagrams of assignments
/// (sd_notify(3)), so that no library is needed.
struct ServiceManager: Sendable {
    static let ready = "READY=1"
    static let stopping = "STOPPING=1"

    /// A path, or after an `@` the name of an abstract socket.
    private let socket: String

    /// The service manager that the environment names. Nil: it names none.
    init?(_ environment: [String: String]) {
        guard let socket = environment["NOTIFY_SOCKET"], socket.hasPrefix("/") || socket.hasPrefix("@") else {
            return nil
        }
        self.socket = socket
    }

    /// Tells the state. A manager that does not take it decides by its own time limit.
    func tell(_ state: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(socket.utf8)
        if name[0] == UInt8(ascii: "@") { name[0] = 0 }
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path).map { $0 + name.count } ?? 0
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        _ = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, state, state.utf8.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
    }
}

/// Tells the service manager when the process is at work, as `status` and `doctor` see it, and when it stops.
struct ReadyNotice: Service {
    private static let pause: Duration = .milliseconds(50)

    let manager: ServiceManager
    /// Throws while Redis is away.
    let isListed: @Sendable () async throws -> Bool

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while (try? await isListed()) != true { try await Task.sleep(for: Self.pause) }
            manager.tell(ServiceManager.ready)
        }
        try? await gracefulShutdown()
        manager.tell(ServiceManager.stopping)
    }
}
