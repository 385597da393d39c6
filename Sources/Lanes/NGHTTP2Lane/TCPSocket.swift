internal import Glibc

/// A TCP socket that does not block. `deinit` closes it; stop polling it before.
final class TCPSocket {
    /// Bytes that the kernel accepts beyond those on the wire. Others wait here, where urgent ones can go before them.
    private static let unsentBytes: Int32 = 64 << 10

    let descriptor: Int32

    /// Begins to connect. The connection ends when the peer has acknowledged nothing for `timeout` milliseconds.
    init(connectingTo address: SocketAddress, timeout: Int32) throws(SocketFailure) {
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
        descriptor = socket(address.family, type, 0)
        guard descriptor >= 0 else { throw SocketFailure(errno) }
        // Each write is a whole batch, so waiting for more bytes gains nothing.
        set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        set(Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, timeout)
        set(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, Self.unsentBytes)
        set(SOL_SOCKET, SO_KEEPALIVE, 1)
        let code = address.bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self) else { return EINVAL }
            return connect(descriptor, start, socklen_t(bytes.count)) == 0 ? 0 : errno
        }
        guard code == 0 || code == EINPROGRESS else { throw SocketFailure(code) }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Whether it is connected; false while it still tries. Call it once the descriptor is writable.
    func isConnected() throws(SocketFailure) -> Bool {
        var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        guard poll(&state, 1, 0) == 1 else { return false }
        var code: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 else { throw SocketFailure(errno) }
        guard code == 0 else { throw SocketFailure(code) }
        return true
    }

    /// While corked, the socket sends full segments only.
    func cork(_ isCorked: Bool) { set(Int32(IPPROTO_TCP), TCP_CORK, isCorked ? 1 : 0) }

    private func set(_ level: Int32, _ option: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
}

/// The system's error text that says why there is no connection.
struct SocketFailure: Error, Hashable, CustomStringConvertible {
    let description: String

    init(_ code: Int32) { description = String(cString: strerror(code)) }
}
