import Foundation
import Synchronization
import TestSupport

/// Passes bytes between a client and a port of 127.0.0.1, in pieces of a given size.
final class Relay: Sendable {
    let port: Int
    private let listener: Int32
    private let isStopped = Atomic<Bool>(false)

    init(to target: Int, pieces: Int) throws {
        (listener, port) = try listeningSocket()
        Thread { [self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, !isStopped.load(ordering: .relaxed), let server = try? connectedSocket(port: target)
                else { return }
                for socket in [client, server] {
                    var on: Int32 = 1
                    setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
                }
                Thread { Self.copy(from: client, to: server, pieces) }.start()
                Thread { Self.copy(from: server, to: client, pieces) }.start()
            }
        }.start()
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private static func copy(from source: Int32, to sink: Int32, _ pieces: Int) {
        var buffer = [UInt8](repeating: 0, count: pieces)
        while true {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0, send(sink, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(sink, Int32(SHUT_RDWR))
        shutdown(source, Int32(SHUT_RDWR))
    }
}
