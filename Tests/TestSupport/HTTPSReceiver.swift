import Foundation
import OpenSSL
import Synchronization

/// A server that takes requests of HTTP/1.1 over TLS and answers as a test says: the other end of a webhook. Each
/// connection has a thread and carries one request.
public final class HTTPSReceiver: Sendable {
    public struct Request: Sendable {
        /// The first line, such as `POST /hook HTTP/1.1`.
        public var line: String
        /// Names in lowercase.
        public var headers: [String: String]
        public var body: [UInt8]
        public var text: String { String(decoding: body, as: UTF8.self) }
    }

    public enum Answer: Sendable {
        case status(Int, headers: [(String, String)] = [], body: [UInt8] = [])
        /// The head and the first bytes of a longer body, then nothing until the client closes the connection.
        case beginning(Int, body: [UInt8] = [])
        /// Nothing, until the client closes the connection.
        case silence

        public static let accepted = Answer.status(200)
    }

    public let port: Int
    public var url: String { "https://localhost:\(port)/hook" }
    public var caFile: String { authority.caFile }
    private let authority: TestAuthority
    private let identity: TLSIdentity
    private let listener: Int32
    private let taken = Mutex<[Request]>([])
    private let accepted = Atomic(0)
    private let rule: Mutex<@Sendable (Request) -> Answer>

    /// The requests so far, in the order of their arrival.
    public var requests: [Request] { taken.withLock { $0 } }
    /// How many connections were made, with a request or without.
    public var connections: Int { accepted.load(ordering: .relaxed) }

    public init(answer: @escaping @Sendable (Request) -> Answer = { _ in .accepted }) throws {
        authority = try TestAuthority()
        identity = try TLSIdentity(try authority.issue("receiver").pem, applicationProtocol: "http/1.1")
        (listener, port) = try listeningSocket()
        rule = Mutex(answer)
        Thread { [self] in
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                accepted.add(1, ordering: .relaxed)
                Thread { [self] in
                    try? serve(socket)
                    close(socket)
                }.start()
            }
        }.start()
    }

    /// Answers otherwise from now on.
    public func answer(_ answer: @escaping @Sendable (Request) -> Answer) { rule.withLock { $0 = answer } }

    /// Refuses connections from now on.
    public func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve(_ socket: Int32) throws {
        let session = try TLSSession(identity)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var plain: [UInt8] = []
        var isOpen = false
        func flush() {
            while session.outputCount > 0 {
                let count = buffer.withUnsafeMutableBytes { session.takeOutput(into: $0) }
                guard send(socket, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
        }
        defer { flush() }
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            buffer.withUnsafeBytes { session.receive(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            if !isOpen {
                isOpen = try session.handshake()
                flush()
            }
            guard isOpen else { continue }
            while true {
                let count = try buffer.withUnsafeMutableBytes { try session.read(into: $0) }
                if count == 0 { break }
                plain += buffer[..<count]
            }
            guard let request = Self.request(plain) else { continue }
            taken.withLock { $0.append(request) }
            switch rule.withLock({ $0 })(request) {
            case .beginning(let status, let body):
                let answer = Array("HTTP/1.1 \(status) X\r\nContent-Length: 1000\r\n\r\n".utf8) + body
                try answer.withUnsafeBytes { try session.write($0) }
                flush()
                while recv(socket, &buffer, buffer.count, 0) > 0 {}
            case .silence: while recv(socket, &buffer, buffer.count, 0) > 0 {}
            case .status(let status, let headers, let body):
                let lines =
                    ["HTTP/1.1 \(status) X", "Content-Length: \(body.count)", "Connection: close"]
                    + headers.map { "\($0.0): \($0.1)" }
                let answer = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
                try answer.withUnsafeBytes { try session.write($0) }
                flush()
                session.close()
            }
            return
        }
    }

    /// Nil until all of the request is there.
    private static func request(_ bytes: [UInt8]) -> Request? {
        let end = Array("\r\n\r\n".utf8)
        guard let head = bytes.firstRange(of: end) else { return nil }
        let lines = String(decoding: bytes[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let body = Array(bytes[head.upperBound...])
        guard body.count >= Int(headers["content-length"] ?? "0") ?? 0 else { return nil }
        return Request(line: lines[0], headers: headers, body: body)
    }
}
