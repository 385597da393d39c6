internal import APNsWire
internal import NGHTTP2
internal import OpenSSL
internal import Threads

/// Makes one connection, step by step and without blocking: look-up, TCP to one address after the other, then TLS with
/// ALPN. It is made and used on the lane's thread.
final class ConnectionAttempt {
    enum Step {
        case waiting
        case ready(TLSWire)
        case failed(NoAnswer.Cause, message: String)
    }

    private enum Phase {
        case lookup(AddressLookup)
        case connecting(TCPSocket)
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
    /// Monotonic milliseconds: the end of the whole attempt, and of the present address if others are left.
    private let deadline: Int64
    private var addressDeadline: Int64

    init(_ origin: Origin, caFile: String?, lookup: AddressLookup, poll: EventPoll, timeout: Int64, now: Int64) {
        server = TLSServer(host: origin.host, caFile: caFile, applicationProtocol: "h2")
        self.poll = poll
        self.timeout = timeout
        deadline = now + timeout
        addressDeadline = deadline
        phase = .lookup(lookup)
    }

    deinit { leaveSocket() }

    /// When `advance` is due although nothing is ready.
    var nextDeadline: Int64 { min(deadline, addressDeadline) }
    /// The descriptor to poll, once there is one.
    var descriptor: Int32? {
        switch phase {
        case .lookup, .over: nil
        case .connecting(let socket): socket.descriptor
        case .handshake(let wire): wire.socket.descriptor
        }
    }

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
                    if let step = connectNext(now) { return step }
                }
            case .connecting(let socket): if let step = advance(socket, now) { return step }
            case .handshake(let wire): return advance(wire, now)
            case .over: return .waiting
            }
        }
    }

    /// Looks whether the socket is connected, and begins TLS on it. Nil if the phase has changed.
    private func advance(_ socket: TCPSocket, _ now: Int64) -> Step? {
        do {
            guard try socket.isConnected() else {
                guard now >= addressDeadline else { return .waiting }
                failure = "no answer"
                return connectNext(now)
            }
        } catch {
            failure = error.description
            return connectNext(now)
        }
        addressDeadline = deadline
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

    /// Begins with the next address. Each address has an equal share of the remaining time.
    private func connectNext(_ now: Int64) -> Step? {
        leaveSocket()
        while !addresses.isEmpty {
            addressDeadline = now + Self.share(of: deadline - now, among: addresses.count)
            let address = addresses.removeFirst()
            do {
                let socket = try TCPSocket(connectingTo: address, timeout: Int32(clamping: timeout))
                guard poll.add(socket.descriptor, .write) else {
                    failure = "the socket cannot be polled"
                    continue
                }
                phase = .connecting(socket)
                return nil
            } catch {
                failure = error.description
            }
        }
        return fail(.connectionFailed, failure)
    }

    /// Milliseconds for one of `count` addresses.
    static func share(of left: Int64, among count: Int) -> Int64 { max(1, left / Int64(max(1, count))) }

    private func fail(_ cause: NoAnswer.Cause, _ message: String) -> Step {
        leaveSocket()
        return .failed(cause, message: message)
    }

    private func leaveSocket() {
        if let descriptor { poll.remove(descriptor) }
        phase = .over
    }
}
