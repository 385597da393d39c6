import Foundation
import OpenSSL
import TestSupport
import Testing

/// Both ends are in memory. The test carries the bytes between them.
@Suite struct TLSSessionTests {
    /// One client and one server.
    private struct Pair {
        let authority: TestAuthority
        let client: TLSSession
        let server: TLSSession

        init(
            host: String = "localhost", applicationProtocol: String? = "h2", trusts other: TestAuthority? = nil
        ) throws {
            authority = try TestAuthority()
            let identity = try TLSIdentity(try authority.issue("server").pem, applicationProtocol: "h2")
            client = try TLSSession(
                TLSServer(
                    host: host, caFile: (other ?? authority).caFile, applicationProtocol: applicationProtocol))
            server = try TLSSession(identity)
        }

        func handshake(atMost size: Int = .max) throws {
            for _ in 0..<5 {
                let isClientDone = try client.handshake()
                carry(client, to: server, atMost: size)
                let isServerDone = try server.handshake()
                carry(server, to: client, atMost: size)
                if isClientDone, isServerDone { return }
            }
            Issue.record("the handshake does not end")
        }
    }

    @Test(arguments: [.max, 1, 700]) func `bytes arrive as they were sent, both ways`(piece: Int) throws {
        let pair = try Pair()
        try pair.handshake(atMost: piece)
        #expect(pair.client.applicationProtocol == "h2" && pair.server.applicationProtocol == "h2")
        for length in [1, 16_384, 16_385, piece == 1 ? 20_000 : 200_000] {
            let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ length) }
            try write(bytes, pair.client)
            #expect(try carryAndRead(pair.client, to: pair.server, atMost: piece) == bytes)
            try write(bytes.reversed(), pair.server)
            #expect(try carryAndRead(pair.server, to: pair.client, atMost: piece) == bytes.reversed())
        }
    }

    @Test(arguments: ["http/1.1", "h", "h2c", nil])
    func `a client that does not offer the protocol has none`(_ applicationProtocol: String?) throws {
        let pair = try Pair(applicationProtocol: applicationProtocol)
        try pair.handshake()
        #expect(pair.client.applicationProtocol == nil && pair.server.applicationProtocol == nil)
    }

    @Test func `a client refuses the certificate of another authority, and says so`() throws {
        let pair = try Pair(trusts: try TestAuthority())
        let refusal = #expect(throws: TLSError.self) { try pair.handshake() }
        guard case .certificate(.unknownIssuer, _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        // The client has written an alert.
        #expect(pair.client.outputCount > 0)
        carry(pair.client, to: pair.server)
        let told = #expect(throws: TLSError.self) { try pair.server.handshake() }
        guard case .handshake(let words)? = told else {
            Issue.record("\(String(describing: told))")
            return
        }
        #expect(words.contains("unknown ca"))
    }

    @Test func `a client refuses another host's certificate`() throws {
        let pair = try Pair(host: "apns.example")
        let refusal = #expect(throws: TLSError.self) { try pair.handshake() }
        guard case .certificate(.wrongHost, _)? = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test func `what was sent before a close is read before it shows`() throws {
        let pair = try Pair()
        try pair.handshake()
        try write([1, 2, 3], pair.server)
        pair.server.close()
        carry(pair.server, to: pair.client)
        #expect(try read(pair.client, atMost: 1) == [1])
        #expect(try read(pair.client, atMost: 9) == [2, 3])
        #expect(throws: TLSError.lost("the server closed the connection")) { try read(pair.client, atMost: 9) }
        // The other direction still works.
        try write([4], pair.client)
        pair.client.close()
        carry(pair.client, to: pair.server)
        #expect(try read(pair.server, atMost: 9) == [4])
        #expect(throws: TLSError.lost("the client closed the connection")) { try read(pair.server, atMost: 9) }
    }

    @Test func `a record that was changed on its way ends the connection`() throws {
        let pair = try Pair()
        try pair.handshake()
        try write([1, 2, 3], pair.client)
        var bytes = output(pair.client)
        bytes[bytes.count - 1] ^= 1
        bytes.withUnsafeBytes { pair.server.receive($0) }
        #expect(throws: TLSError.self) { try read(pair.server, atMost: 9) }
    }

    @Test func `a peer that speaks no TLS is told apart`() throws {
        let pair = try Pair()
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8).withUnsafeBytes { pair.server.receive($0) }
        #expect(throws: TLSError.self) { try pair.server.handshake() }
    }

    @Test func `an identity tells when its certificate expires`() throws {
        let authority = try TestAuthority()
        let pem = try authority.issue("server", life: 24).pem
        let expiry = try #require(TLSIdentity(pem, applicationProtocol: "h2").expiresAt)
        let left = try #require(TLSIdentity.secondsLeft(pem.certificate))
        // A busy machine may be slow from one line to the next.
        let difference = expiry - (Int64(Date().timeIntervalSince1970) + Int64(left))
        #expect((-120...120).contains(difference))
    }

    @Test func `a key that is not the certificate's is refused`() throws {
        let authority = try TestAuthority()
        var pem = try authority.issue("one").pem
        pem.key = try authority.issue("two").pem.key
        #expect(throws: TLSError.self) { try TLSIdentity(pem, applicationProtocol: "h2") }
        #expect(throws: TLSError.self) {
            try TLSIdentity(CertificateAuthority.Identity(certificate: [], key: []), applicationProtocol: "h2")
        }
    }
}

// MARK: Moving bytes

private func output(_ session: TLSSession) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: session.outputCount) { buffer, count in
        count = session.takeOutput(into: UnsafeMutableRawBufferPointer(buffer))
    }
}

private func carry(_ sender: TLSSession, to receiver: TLSSession, atMost size: Int = .max) {
    let bytes = output(sender)
    for start in stride(from: 0, to: bytes.count, by: min(size, max(1, bytes.count))) {
        bytes[start..<min(bytes.count, start + min(size, bytes.count))].withUnsafeBytes { receiver.receive($0) }
    }
}

/// The receiver reads after each piece.
private func carryAndRead(_ sender: TLSSession, to receiver: TLSSession, atMost size: Int) throws -> [UInt8] {
    let bytes = output(sender)
    let size = min(size, bytes.count)
    var found: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: size) {
        bytes[start..<min(bytes.count, start + size)].withUnsafeBytes { receiver.receive($0) }
        while true {
            let part = try read(receiver, atMost: 20_000)
            if part.isEmpty { break }
            found += part
        }
    }
    return found
}

private func write(_ bytes: [UInt8], _ session: TLSSession) throws {
    try bytes.withUnsafeBytes { try session.write($0) }
}

private func read(_ session: TLSSession, atMost count: Int) throws -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let found = try buffer.withUnsafeMutableBytes { try session.read(into: $0) }
    return Array(buffer.prefix(found))
}
