import Foundation
import Glibc
import TestSupport

/// A blocking TCP connection to loopback. Each read runs on its own thread. It gives up after two minutes, also when
/// the peer goes on sending something else.
final class Socket: Sendable {
    private let descriptor: Int32

    /// Connects. `receiveBuffer` is how many unread bytes the kernel keeps, and 0 leaves that to the kernel.
    init(port: Int, receiveBuffer: Int32 = 0) throws {
        descriptor = try connectedSocket(port: port, receiveBuffer: receiveBuffer)
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Sends `text` again and again, as long as the peer accepts it.
    func flood(_ text: String, times: Int) {
        let bytes = Array(String(repeating: text, count: times).utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.send(
                    descriptor, buffer.baseAddress?.advanced(by: sent), buffer.count - sent,
                    Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
            }
            if count <= 0 { return }
            sent += count
        }
    }

    /// Waits without reading until the peer has closed the connection. False after two minutes.
    func closedByPeer() async -> Bool {
        let descriptor = self.descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var state = pollfd(fd: descriptor, events: 0x2000 /* POLLRDHUP */, revents: 0)
                continuation.resume(returning: poll(&state, 1, 120_000) == 1)
            }
        }
    }

    /// Whether something can be read, or the peer has closed.
    var isReadable: Bool { isReady(Int16(POLLIN)) }
    var isClosedByPeer: Bool { isReady(0x2000 /* POLLRDHUP */) }

    private func isReady(_ events: Int16) -> Bool {
        var state = pollfd(fd: descriptor, events: events, revents: 0)
        return poll(&state, 1, 0) == 1
    }

    /// Makes closing reset the connection, so that no port stays in TIME_WAIT.
    func resetOnClose() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
    }

    func readToEnd() async -> String { await read { _ in false } }
    func readHead() async -> String { await read { $0.contains("\r\n\r\n") } }
    /// Reads a head, and a body that ends with a brace.
    func readAnswer() async -> String { await read { $0.contains("\r\n\r\n") && $0.hasSuffix("}") } }

    func read(until isEnough: @escaping @Sendable (String) -> Bool) async -> String {
        let descriptor = self.descriptor
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var text = ""
                var buffer = [UInt8](repeating: 0, count: 4_096)
                let end = ContinuousClock.now + .seconds(120)
                while !isEnough(text), .now < end {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    guard count > 0 else { break }
                    text += String(decoding: buffer[..<count], as: UTF8.self)
                }
                continuation.resume(returning: text)
            }
        }
    }
}
