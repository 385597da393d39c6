import Delivery
internal import NGHTTP2
internal import OpenSSL
internal import Threads

/// Makes one connection, step by step and without blocking: look-up, TCP to the addresses, then TLS with ALPN. It is
/// made and used on the lane's thread.
///
/// An address that does not answer must not cost seconds: an IPv6 address without a route swallows packets. So the next
/// one is tried beside it after `headStart`, and the first that connects is taken (RFC 8305).
final class ConnectionAttempt {
    enum Step {
        case waiting
        case ready(TLSWire)
        case failed(NoAnswer.Cause, message: String)
    }

    private enum Phase {
        case lookup(AddressLookup)
        /// The sockets of the addresses that are being tried, the first one first.
        case connecting([TCPSocket])
        case handshake(TLSWire)
        case over
    }

    private let server: TLSServer
    private let poll: EventPoll
    private let timeout: Int64
    private var phase: Phase
    /// Addresses that have not been tried.
    private var addresses: [SocketAddress] = []
    /// Why the last address failed.
    private var failure = "no address"
    /// How long the newest address is alone in being tried, ms.
    private static let headStart: Int64 = 250
    /// Monotonic milliseconds: the end of the whole attempt, and when the next address is tried if one is left.
    private let deadline: Int64
    private var nextAddress: Int64

    init(_ origin: Origin, caFile: String?, lookup: AddressLookup, poll: EventPoll, timeout: Int64, now: Int64) {
        server = TLSServer(host: origin.host, caFile: caFile, applicationProtocol: "h2")
        self.poll = poll
        self.timeout = timeout
        deadline = now + timeout
        nextAddress = deadline
        phase = .lookup(lookup)
    }

    deinit { leaveSockets() }

    /// When `advance` is due although nothing is ready.
    var nextDeadline: Int64 { min(deadline, nextAddress) }

    /// Advances as far as possible. `.ready` and `.failed` end the attempt. A ready wire's descriptor stays polled.
    func advance(now: Int64) -> Step {
        while true {
            if now >= deadline { return fail(.timeout, "no connection within \(timeout) ms") }
            switch phase {
            case .lookup(let lookup):
                switch lookup.result {
                case nil: return .waiting
                case .failed(let message): return fail(.connectionFailed, message)
                case .found(let found):
                    addresses = found
                    if let step = connectNext([], now) { return step }
                }
            case .connecting(let sockets): if let step = advance(sockets, now) { return step }
            case .handshake(let wire): return advance(wire, now)
            case .over: return .waiting
            }
        }
    }

    /// Looks whether a socket is connected, and begins TLS on it. Nil if the phase has changed.
    private func advance(_ sockets: [TCPSocket], _ now: Int64) -> Step? {
        var open: [TCPSocket] = []
        for socket in sockets {
            do throws(SocketFailure) {
                if try socket.isConnected() { return begin(on: socket, among: sockets) }
                open.append(socket)
            } catch {
                failure = error.description
                poll.remove(socket.descriptor)
            }
        }
        if open.count < sockets.count || now >= nextAddress { return connectNext(open, now) }
        return .waiting
    }

    private func begin(on socket: TCPSocket, among sockets: [TCPSocket]) -> Step? {
        for other in sockets where other !== socket { poll.remove(other.descriptor) }
        phase = .connecting([socket])
        nextAddress = deadline
        do {
            phase = .handshake(try TLSWire(socket, server))
            return nil
        } catch {
            return fail(.tls, error.description)
        }
    }

    private func advance(_ wire: TLSWire, _ now: Int64) -> Step {
        do {
            switch try wire.connection.handshake() {
            case .wantsRead:
                poll.change(wire.socket.descriptor, .read)
                return .waiting
            case .wantsWrite:
                poll.change(wire.socket.descriptor, .write)
                return .waiting
            case .done: break
            }
        } catch {
            // A connection that ends before TLS begins says nothing about certificates.
            if case .lost(let message) = error { return fail(.connectionFailed, message) }
            return fail(.tls, error.description)
        }
        guard wire.connection.applicationProtocol == server.applicationProtocol else {
            return fail(.connectionFailed, "the server does not speak HTTP/2")
        }
        poll.change(wire.socket.descriptor, .read)
        phase = .over
        return .ready(wire)
    }

    /// Tries the next address beside the addresses that have not failed yet. Nil if the phase has changed.
    private func connectNext(_ sockets: [TCPSocket], _ now: Int64) -> Step? {
        var sockets = sockets
        var hasBegun = false
        while !hasBegun, !addresses.isEmpty {
            let address = addresses.removeFirst()
            do {
                let socket = try TCPSocket(connectingTo: address, timeout: Int32(clamping: timeout))
                hasBegun = poll.add(socket.descriptor, .write)
                if hasBegun { sockets.append(socket) } else { failure = "the socket cannot be polled" }
            } catch {
                failure = error.description
            }
        }
        phase = .connecting(sockets)
        nextAddress = addresses.isEmpty ? deadline : now + Self.headStart
        if sockets.isEmpty { return fail(.connectionFailed, failure) }
        return hasBegun ? nil : .waiting
    }

    private func fail(_ cause: NoAnswer.Cause, _ message: String) -> Step {
        leaveSockets()
        return .failed(cause, message: message)
    }

    private func leaveSockets() {
        switch phase {
        case .lookup, .over: break
        case .connecting(let sockets): for socket in sockets { poll.remove(socket.descriptor) }
        case .handshake(let wire): poll.remove(wire.socket.descriptor)
        }
        phase = .over
    }
}
