import Foundation
import Redis

extension RedisServer {
    /// The lines `name:value` of a reply, such as that to `INFO replication` or `CLUSTER INFO`.
    public func fields(_ command: String, _ argument: String) async throws -> [String: String] {
        let client = RedisClient(url: socketURL, connections: 1, logger: .quiet)
        let reply = try await client.send(RedisCommand(command, [.string(argument)]))
        await client.close()
        return try reply.infoFields()
    }

    /// Sends one command, whose arguments hold no spaces, on a new connection. Returns the first line of the reply.
    public func command(_ words: String) throws -> String {
        try firstLine(of: words, on: connectedSocket(path: socketPath))
    }
}

/// Sends one command in a line and returns the first line of the reply. Closes `socket`.
func firstLine(of words: String, on socket: Int32) throws -> String {
    defer { close(socket) }
    var timeout = timeval(tv_sec: 10, tv_usec: 0)
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    let line = Array((words + "\r\n").utf8)
    guard send(socket, line, line.count, Int32(MSG_NOSIGNAL)) == line.count else {
        throw SocketError(description: "send: \(lastSystemError())")
    }
    var answer: [UInt8] = []
    var byte: UInt8 = 0
    while recv(socket, &byte, 1, 0) == 1, byte != UInt8(ascii: "\r") { answer.append(byte) }
    return String(decoding: answer, as: UTF8.self)
}
