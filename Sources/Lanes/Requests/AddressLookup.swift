internal import Glibc
internal import Synchronization
internal import Threads

/// One look-up of a host's addresses. A numeric address is there at once. A name is looked up on a thread of its own,
/// because getaddrinfo blocks as long as the resolver likes. A look-up that is released ends by itself.
final class AddressLookup: Sendable {
    enum Outcome: Sendable {
        /// In the order in which the system wants them tried; never empty.
        case found([SocketAddress])
        /// The resolver's error text.
        case failed(String)
    }

    private let outcome = Mutex<Outcome?>(nil)

    /// Begins the look-up. `wake` is called on the look-up's thread once `result` is set.
    init(host: String, port: UInt16, wake: @escaping @Sendable () -> Void) {
        if case .found(let addresses) = Self.resolve(host, port, AI_NUMERICHOST) {
            outcome.withLock { $0 = .found(addresses) }
            return
        }
        let hasStarted = NamedThread.start("lane-lookup") { [self] in
            let found = Self.resolve(host, port, 0)
            outcome.withLock { $0 = found }
            wake()
        }
        if !hasStarted { outcome.withLock { $0 = .failed("no thread for looking up the name") } }
    }

    /// Nil while the look-up goes on.
    var result: Outcome? { outcome.withLock { $0 } }

    private static func resolve(_ host: String, _ port: UInt16, _ flags: Int32) -> Outcome {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = flags | AI_NUMERICSERV
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, String(port), &hints, &list)
        guard code == 0, let list else { return .failed(String(cString: gai_strerror(code))) }
        // The addresses are copied, so nothing points into the list after this.
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        for entry in sequence(first: list, next: { $0.pointee.ai_next }) {
            let bytes = UnsafeRawBufferPointer(start: entry.pointee.ai_addr, count: Int(entry.pointee.ai_addrlen))
            addresses.append(SocketAddress(family: entry.pointee.ai_family, bytes: Array(bytes)))
        }
        return addresses.isEmpty ? .failed("the name has no address") : .found(addresses)
    }
}

struct SocketAddress: Sendable {
    let family: Int32
    let bytes: [UInt8]
}
