import Dispatch
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPAPI

/// Costly pages may have all threads of the pool that runs tasks. The gateway still answers new connections.
@Suite struct PoolTests {
    /// Keeps threads of the pool until the answer is there.
    private final class Pool: Sendable {
        private let taken = Mutex(0)
        private let isFree = DispatchSemaphore(value: 0)
        let threads = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))

        func take() {
            taken.withLock { $0 += 1 }
            isFree.wait()
        }

        func free() { for _ in 0..<threads { isFree.signal() } }

        /// - Returns: false after a minute
        func isTaken() -> Bool {
            for _ in 0..<60_000 {
                if taken.withLock(\.self) == threads { return true }
                usleep(1_000)
            }
            return false
        }
    }

    @Test func `a new connection is answered while no thread of the pool is free`() async throws {
        try await GatewayFixture.run { gateway in
            let (pool, port) = (Pool(), gateway.port)
            let answer = Mutex("")
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                Thread.detachNewThread {
                    if pool.isTaken() { answer.withLock { $0 = Self.ask(port) } }
                    pool.free()
                    done.resume()
                }
                for _ in 0..<pool.threads { Task.detached { pool.take() } }
            }
            #expect(answer.withLock(\.self).hasPrefix("HTTP/1.1 200"))
        }
    }

    /// Asks on a new connection, and blocks its thread up to a minute.
    private static func ask(_ port: Int) -> String {
        guard let descriptor = try? connectedSocket(port: port, receiveBuffer: 0) else { return "" }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let request = Array("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)
        _ = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }
}
