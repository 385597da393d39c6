import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

/// A TCP proxy in front of a simulator, on its own thread. It simulates network faults on request. It knows nothing
/// about TLS or HTTP/2.
final class LoopbackProxy: Sendable {
    private struct Pair {
        var client: Int32
        var server: Int32
        /// No bytes are read or written any more, but both ends stay open.
        var isDead = false
    }

    private struct State {
        var pairs: [Pair] = []
        var isOver = false
    }

    let port: UInt16
    private let listener: Int32
    private let target: UInt16
    private let state = Mutex(State())
    private let wake: (read: Int32, write: Int32)

    /// Forwards connections to `target` on this machine while it exists.
    init(to target: UInt16) throws {
        self.target = target
        let (listener, port) = try listeningSocket()
        self.listener = listener
        self.port = UInt16(port)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        wake = (ends[0], ends[1])
        Thread.detachNewThread { [self] in run() }
    }

    var origin: String { "https://127.0.0.1:\(port)" }
    var connections: Int { state.withLock { $0.pairs.count } }

    /// Silences the connections that are open now: no end, no reset, and no acknowledgement beyond the buffers.
    func blackhole() {
        state.withLock { state in for index in state.pairs.indices { state.pairs[index].isDead = true } }
        poke()
    }

    /// Resets the connections that are open now, as when a machine in between restarts.
    func cut() {
        let pairs = state.withLock { state in
            defer { state.pairs = [] }
            return state.pairs
        }
        for pair in pairs { for end in [pair.client, pair.server] { Self.reset(end) } }
        poke()
    }

    func stop() {
        state.withLock { $0.isOver = true }
        poke()
    }

    private func poke() {
        var byte: UInt8 = 0
        write(wake.write, &byte, 1)
    }

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let (pairs, isOver) = state.withLock { ($0.pairs.filter { !$0.isDead }, $0.isOver) }
            if isOver { break }
            var polled = [
                pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            for pair in pairs {
                polled.append(pollfd(fd: pair.client, events: Int16(POLLIN), revents: 0))
                polled.append(pollfd(fd: pair.server, events: Int16(POLLIN), revents: 0))
            }
            poll(&polled, nfds_t(polled.count), -1)
            if polled[0].revents != 0 { _ = read(wake.read, &buffer, buffer.count) }
            // The state may have changed meanwhile, so this checks what is ready again.
            if polled[1].revents != 0 { accept() }
            for (index, pair) in pairs.enumerated() {
                if polled[2 + 2 * index].revents != 0 { forward(pair.client, pair.server, pair, &buffer) }
                if polled[3 + 2 * index].revents != 0 { forward(pair.server, pair.client, pair, &buffer) }
            }
        }
        let pairs = state.withLock { $0.pairs }
        for pair in pairs { for end in [pair.client, pair.server] { close(end) } }
        for descriptor in [listener, wake.read, wake.write] { close(descriptor) }
    }

    private func accept() {
        let client = Glibc.accept(listener, nil, nil)
        guard client >= 0 else { return }
        guard let server = try? connectedSocket(port: Int(target)) else {
            close(client)
            return
        }
        state.withLock { $0.pairs.append(Pair(client: client, server: server)) }
    }

    private func forward(_ from: Int32, _ to: Int32, _ pair: Pair, _ buffer: inout [UInt8]) {
        let isLive = state.withLock { $0.pairs.contains { $0.client == pair.client && !$0.isDead } }
        guard isLive else { return }
        let count = recv(from, &buffer, buffer.count, 0)
        var sent = 0
        while count > 0, sent < count {
            let written = buffer.withUnsafeBytes {
                send(to, $0.baseAddress! + sent, count - sent, Int32(MSG_NOSIGNAL))
            }
            guard written > 0 else { break }
            sent += written
        }
        guard count <= 0 || sent < count else { return }
        let wasThere = state.withLock { state in
            defer { state.pairs.removeAll { $0.client == pair.client } }
            return state.pairs.contains { $0.client == pair.client }
        }
        if wasThere { for end in [pair.client, pair.server] { close(end) } }
    }

    private static func reset(_ socket: Int32) {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
        close(socket)
    }
}
