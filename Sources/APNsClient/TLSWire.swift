internal import OpenSSL

/// A TCP socket with TLS on it, as one connection has it. Belongs to the lane's thread. Order of destruction: TLS, which
/// points to the socket, then the socket; whoever polls the descriptor stops first.
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
