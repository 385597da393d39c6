internal import OpenSSL

/// A TCP socket with TLS on it, for one connection. It belongs to the lane's thread. Order of destruction: first TLS,
/// which points to the socket, then the socket. Stop polling the descriptor before.
final class TLSWire {
    private var tls: TLSConnection?
    let socket: TCPSocket

    init(_ socket: TCPSocket, _ server: TLSServer) throws(TLSError) {
        self.socket = socket
        tls = try TLSConnection(server, descriptor: socket.descriptor)
    }

    deinit { tls = nil }

    var connection: TLSConnection {
        guard let tls else { preconditionFailure("TLS ends with its wire") }
        return tls
    }
}
