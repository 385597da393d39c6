import Foundation
import Redis
import Synchronization
import TestSupport

/// A server that greets like Redis and then answers every command with the same bytes.
final class FakeServer: Sendable {
    enum After: Sendable {
        case hold, close
        /// Keeps sending these bytes until the peer closes the connection.
        case flood([UInt8])
    }

    /// The answers to CLIENT SETNAME and CLIENT ID.
    static let greeting = "+OK\r\n:1\r\n"

    let port: Int
    private let listener: Int32
    private let isStopped = Atomic<Bool>(false)
    private let served = Atomic<Int>(0)

    /// How many connections were accepted so far.
    var connections: Int { served.load(ordering: .relaxed) }

    /// Starts a server. If `answer` is nil, it closes or keeps the connection right after the greeting.
    init(greeting: String = FakeServer.greeting, answer: String?, after: After = .hold) throws {
        (listener, port) = try listeningSocket()
        let thread = Thread { [self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0, !isStopped.load(ordering: .relaxed) else { return }
                served.add(1, ordering: .relaxed)
                // Use one thread per connection, so that a held connection does not delay the next one.
                Thread { Self.serve(socket, greeting: greeting, answer: answer, after: after) }.start()
            }
        }
        thread.start()
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
        shutdown(listener, Int32(SHUT_RDWR))
    }

    var url: RedisURL {
        get throws { try RedisURL("redis://127.0.0.1:\(port)") }
    }

    private static func serve(_ socket: Int32, greeting: String, answer: String?, after: After) {
        defer { close(socket) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        func say(_ bytes: [UInt8]) -> Bool { send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) > 0 }
        guard recv(socket, &buffer, buffer.count, 0) > 0, greeting.isEmpty || say(Array(greeting.utf8)) else { return }
        if let answer {
            guard recv(socket, &buffer, buffer.count, 0) > 0, say(Array(answer.utf8)) else { return }
        }
        switch after {
        case .close: return
        case .hold: while recv(socket, &buffer, buffer.count, 0) > 0 {}
        case .flood(let bytes): while say(bytes) {}
        }
    }
}

extension RedisOptions {
    /// For tests that wait for a reply that never comes. The connection itself is made, however busy the machine is.
    static var impatientForReplies: RedisOptions {
        var options = RedisOptions()
        options.connectTimeout = .seconds(60)
        options.commandTimeout = .milliseconds(300)
        return options
    }

    /// Long timeouts, for tests in which no step may time out.
    static var patient: RedisOptions {
        var options = RedisOptions()
        options.connectTimeout = .seconds(60)
        options.commandTimeout = .seconds(60)
        return options
    }

    /// For tests of a server that is silent from the beginning. On a busy machine a healthy server may
    /// also miss these times.
    static var impatient: RedisOptions {
        var options = RedisOptions()
        options.connectTimeout = .milliseconds(300)
        options.commandTimeout = .milliseconds(300)
        return options
    }
}
