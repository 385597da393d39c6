import Foundation
public import Redis
import Synchronization

/// A proxy between a client and a redis-server, which strikes at a command that a test chooses. It passes on one
/// command after the other, also those of a pipeline. The commands of a new connection's greeting do not count.
public final class RedisProxy: Sendable {
    public enum Fault: String, Sendable, CaseIterable {
        /// A command that changes something does not reach Redis: all connections break, and no new one can be made.
        case cutBefore
        /// The same, but Redis executes the command. Only its reply is lost.
        case cutAfter
        /// A reply arrives, and then the connections break.
        case cutBehind
        /// Redis refuses this command and all later ones, as while it loads its data.
        case refused
    }

    private struct State {
        var fault: Fault?
        /// How often a fault was armed. A strike counts only until its fault is disarmed.
        var number = 0
        /// How many more commands pass before the fault.
        var passing = 0
        var hasStruck = false
        var isAway = false
        var isOver = false
        var answers: [String: String] = [:]
        var sockets: Set<Int32> = []
    }

    private static let reading: Set<String> = [
        "EXISTS", "GET", "HGET", "HGETALL", "HLEN", "HMGET", "HSCAN", "INFO", "MULTI", "PING", "SMEMBERS", "SSCAN",
        "TIME",
        "XLEN", "XPENDING", "XRANGE", "ZCARD", "ZCOUNT", "ZRANGE", "ZRANGEBYSCORE", "ZSCORE",
    ]
    private static let greeting: Set<String> = ["HELLO", "AUTH", "CLIENT", "SELECT", "ROLE", "SCRIPT", "READONLY"]

    private let path: String
    private let listener: Int32
    private let port: Int
    private let state = Mutex(State())

    public init(to server: RedisServer) throws {
        path = server.socketPath
        (listener, port) = try listeningSocket()
        Thread.detachNewThread { [self] in listen() }
    }

    public var url: RedisURL {
        do { return try RedisURL("redis://127.0.0.1:\(port)") } catch { fatalError("\(error)") }
    }

    /// Lets `fault` strike at a command, after `passing` other ones.
    public func arm(_ fault: Fault, passing: Int) {
        state.withLock { ($0.fault, $0.passing, $0.hasStruck, $0.number) = (fault, passing, false, $0.number + 1) }
    }

    /// From now on answers every read of a stream that there is nothing, and does not wait.
    public func answerReads() { for command in ["XREAD", "XREADGROUP"] { answer(command, with: "*-1") } }

    /// From now on answers a command itself, in place of Redis. Also commands of the greeting.
    /// - Parameter reply: such as `-ERR unknown command`, without the end of its last line.
    public func answer(_ command: String, with reply: String) {
        state.withLock { $0.answers[command] = reply + "\r\n" }
    }

    /// Lets everything pass again. Returns whether the fault has struck.
    public func disarm() -> Bool {
        state.withLock { state in
            (state.fault, state.isAway) = (nil, false)
            return state.hasStruck
        }
    }

    public func stop() {
        state.withLock { state in
            state.isOver = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func listen() {
        while true {
            let client = accept(listener, nil, nil)
            if state.withLock({ $0.isOver }) {
                if client >= 0 { close(client) }
                close(listener)
                return
            }
            guard client >= 0 else { continue }
            guard !state.withLock({ $0.isAway }), let server = try? connectedSocket(path: path) else {
                close(client)
                continue
            }
            state.withLock { $0.sockets.formUnion([client, server]) }
            Thread.detachNewThread { [self] in
                pass(RespStream(client), RespStream(server))
                state.withLock { $0.sockets.subtract([client, server]) }
                close(client)
                close(server)
            }
        }
    }

    private func pass(_ client: RespStream, _ server: RespStream) {
        var isInTransaction = false
        while let command = client.next() {
            if let answer = state.withLock({ $0.answers[Self.name(of: command)] }) {
                guard client.write(Array(answer.utf8)) else { return }
                continue
            }
            let (fault, number) = strikes(at: command, isInTransaction)
            var last: [UInt8] = []
            if fault == nil {
                let name = Self.name(of: command)
                isInTransaction = name == "MULTI" || isInTransaction && name != "EXEC"
            }
            if fault == .refused {
                guard client.write(Array("-LOADING Redis is loading the dataset in memory\r\n".utf8)) else { return }
                continue
            }
            if fault != .cutBefore {
                guard server.write(command), let reply = server.next() else { return }
                if fault == nil {
                    guard client.write(reply) else { return }
                    continue
                }
                last = reply
            }
            // In one step: whoever has the reply may call `disarm` at once. Another connection's strike may have come
            // first, and its fault may be disarmed by now: nobody would let Redis come back.
            return state.withLock { state in
                guard state.fault == fault, state.number == number else { return }
                state.isAway = true
                if fault == .cutBehind { _ = client.write(last) }
                for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
            }
        }
    }

    private static func name(of command: [UInt8]) -> String {
        let lines = command.split(separator: UInt8(ascii: "\n"), maxSplits: 3)
        return String(decoding: lines[2].dropLast(), as: UTF8.self).uppercased()
    }

    /// - Parameter isInTransaction: Redis refuses a whole transaction or none of it.
    private func strikes(at command: [UInt8], _ isInTransaction: Bool) -> (Fault?, number: Int) {
        let name = Self.name(of: command)
        return state.withLock { state in
            let none = (Fault?.none, state.number)
            guard let fault = state.fault, fault != .refused || !isInTransaction, !Self.greeting.contains(name) else {
                return none
            }
            // Whether a command that only reads was executed makes no difference.
            if [.cutBefore, .cutAfter].contains(fault), Self.reading.contains(name) { return none }
            if state.passing > 0 {
                state.passing -= 1
                return none
            }
            state.hasStruck = true
            return (fault, state.number)
        }
    }
}

/// Reads whole messages of Redis's protocol from a socket: commands or replies.
private final class RespStream {
    private let socket: Int32
    private var bytes: [UInt8] = []

    init(_ socket: Int32) { self.socket = socket }

    /// The next message, as it came. Nil at the end of the stream.
    func next() -> [UInt8]? {
        while true {
            if let end = end(of: 0) {
                defer { bytes.removeFirst(end) }
                return Array(bytes[..<end])
            }
            var part = [UInt8](repeating: 0, count: 64 << 10)
            let count = recv(socket, &part, part.count, 0)
            guard count > 0 else { return nil }
            bytes += part[..<count]
        }
    }

    func write(_ message: [UInt8]) -> Bool {
        var sent = 0
        while sent < message.count {
            let count = message.withUnsafeBytes {
                send(socket, $0.baseAddress! + sent, message.count - sent, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    /// The offset after the message that begins at `start`. Nil if it is not complete.
    private func end(of start: Int) -> Int? {
        guard start < bytes.count, let newline = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = newline + 1
        guard let count = Int(String(decoding: bytes[start + 1..<newline - 1], as: UTF8.self)), count >= 0 else {
            return line
        }
        switch bytes[start] {
        case UInt8(ascii: "$"): return line + count + 2 <= bytes.count ? line + count + 2 : nil
        case UInt8(ascii: "*"):
            var place = line
            for _ in 0..<count {
                guard let next = end(of: place) else { return nil }
                place = next
            }
            return place
        default: return line
        }
    }
}
