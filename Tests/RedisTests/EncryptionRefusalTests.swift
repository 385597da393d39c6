import Foundation
import OpenSSL
import Redis
import TestSupport
import Testing

/// Tests connections that must be refused, and what each error says: the problem and the remedy.
@Suite struct EncryptionRefusalTests {
    private func refusal(_ url: RedisURL, _ options: RedisOptions) async throws -> RedisError? {
        let redis = RedisClient(url: url, connections: 1, options: options, logger: .quiet)
        let error = await #expect(throws: RedisError.self) { try await redis.ping() }
        await redis.close()
        return error
    }

    /// Checks that the error is `.insecure`, with these words in its text and its remedy.
    private func expect(
        _ error: RedisError?, _ words: String, remedy: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard case .insecure(let why, let what) = error else {
            Issue.record("\(error as Any)", sourceLocation: sourceLocation)
            return
        }
        #expect(why.contains(words), "\(why)", sourceLocation: sourceLocation)
        #expect(what.contains(remedy), "\(what)", sourceLocation: sourceLocation)
        #expect(error?.isRetriable == true)
    }

    @Test func `a server of another authority`() async throws {
        let server = try await EncryptedRedis.start()
        let other = try TestAuthority()
        defer { withExtendedLifetime(other) {} }
        expect(
            try await refusal(server.url(), server.options(roots: other.caFile)), "certificate",
            remedy: "no certificate in \(other.caFile) has signed it")
        // The system's roots do not include this authority.
        expect(try await refusal(server.url(), RedisOptions()), "certificate", remedy: "redis.ca_file")
    }

    @Test func `a pinned certificate is enough, and no other one is`() async throws {
        let authority = try TestAuthority()
        // Nothing of it would pass: the issuer is not known, the name is another one, and its time is over.
        let identity = try authority.issue("server", host: ["redis.example.com"], life: -1)
        let server = try await EncryptedRedis.start(authority, identity: identity)
        let refused = try await refusal(server.url(), RedisOptions())
        guard case .insecure(let why, let remedy)? = refused, let found = why.firstMatch(of: /sha256:([0-9a-f]{64})/)
        else {
            Issue.record("\(refused as Any)")
            return
        }
        #expect(remedy.contains("redis.verify"), "the error tells what to pin")
        var options = RedisOptions()
        let others = "sha256:" + String(repeating: "0", count: 64)
        options.tls.verification = try #require(TLSServer.Trust("\(others),sha256:\(found.1)"))
        let redis = RedisClient(url: try server.url(), connections: 1, options: options, logger: .quiet)
        try await redis.ping()
        await redis.close()
        options.tls.verification = try #require(TLSServer.Trust(others))
        expect(try await refusal(server.url(), options), "it is sha256:\(found.1)", remedy: "sha256:OLD,sha256:NEW")
        options.tls.verification = .anything
        let unchecked = RedisClient(url: try server.url(), connections: 1, options: options, logger: .quiet)
        try await unchecked.ping()
        await unchecked.close()
    }

    @Test func `a server of another name`() async throws {
        let authority = try TestAuthority()
        let identity = try authority.issue("server", host: ["redis.example.com"])
        let server = try await EncryptedRedis.start(authority, identity: identity)
        for host in ["localhost", "127.0.0.1"] {
            expect(
                try await refusal(server.url(host), server.options()), "mismatch, it is for DNS:redis.example.com",
                remedy: "redis.url")
        }
    }

    @Test func `a certificate whose time is over`() async throws {
        let authority = try TestAuthority()
        let server = try await EncryptedRedis.start(authority, identity: try authority.issue("server", life: -1))
        expect(try await refusal(server.url(), server.options()), "has expired", remedy: "valid now")
    }

    @Test(arguments: ["TLSv1.2", "TLSv1.3"])
    func `a server that asks for a certificate`(version: String) async throws {
        let server = try await EncryptedRedis.start(asksForCertificate: true, extra: ["--tls-protocols", version])
        let redis = RedisClient(
            url: try server.url(), options: server.options(identity: try server.authority.issue("client")),
            logger: .quiet)
        try await redis.ping()
        await redis.close()
        let without = try await refusal(server.url(), server.options())
        // The older protocol only reports that the handshake failed.
        expect(
            without, version == "TLSv1.3" ? "client certificate: tlsv13 alert" : "handshake failure",
            remedy: "redis.cert_file and redis.key_file")
        let stranger = try TestAuthority().issue("stranger")
        expect(
            try await refusal(server.url(), server.options(identity: stranger)), "client certificate",
            remedy: "\(stranger.certificateFile) must be valid")
    }

    @Test func `a server without TLS`() async throws {
        let encrypted = try await EncryptedRedis.start()
        // Redis's answer to a handshake depends on whether the handshake holds the end of a line.
        let server = try FakeServer(greeting: "-ERR unknown command\r\n", answer: nil)
        defer { server.stop() }
        expect(
            try await refusal(try RedisURL("rediss://127.0.0.1:\(server.port)"), encrypted.options()),
            "does not speak TLS", remedy: "redis://")
        let silent = try FakeServer(greeting: "", answer: nil)
        defer { silent.stop() }
        let error = try await refusal(
            try RedisURL("rediss://127.0.0.1:\(silent.port)"), encrypted.options(.impatient))
        guard case .unreachable(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("no TLS handshake") && why.contains("redis://"), "\(why)")
    }

    @Test func `a server with TLS that is not asked for it`() async throws {
        let server = try await EncryptedRedis.start()
        let error = try await refusal(server.url(scheme: "redis"), RedisOptions())
        guard case .unreachable(let why) = error else {
            Issue.record("\(error as Any)")
            return
        }
        #expect(why.contains("redis.url is rediss://"), "\(why)")
        // Other servers answer with an alert.
        let alert = try FakeServer(greeting: "\u{15}\u{3}\u{1}\0\u{2}\u{2}F", answer: nil, after: .close)
        defer { alert.stop() }
        expect(try await refusal(try alert.url, RedisOptions()), "speaks TLS", remedy: "rediss://")
    }

    @Test func `files that cannot be used are named`() async throws {
        let server = try await EncryptedRedis.start()
        let authority = server.authority
        let one = try authority.issue("one")
        let two = try authority.issue("two")
        let cases: [(RedisTLSFiles, String)] = [
            (RedisTLSFiles(roots: "/nowhere/ca.pem"), "/nowhere/ca.pem: No such file"),
            (RedisTLSFiles(roots: one.keyFile), "\(one.keyFile): it holds no certificate"),
            (RedisTLSFiles(certificate: "/nowhere/c.pem", key: one.keyFile), "/nowhere/c.pem: No such file"),
            (
                RedisTLSFiles(certificate: one.certificateFile, key: one.certificateFile),
                "\(one.certificateFile): it holds no private key"
            ),
            (RedisTLSFiles(certificate: one.keyFile, key: one.keyFile), "\(one.keyFile): it holds no certificate"),
            (
                RedisTLSFiles(certificate: one.certificateFile, key: two.keyFile),
                "\(two.keyFile): it is not the key of the certificate in \(one.certificateFile)"
            ),
        ]
        for (files, words) in cases {
            var options = RedisOptions()
            options.tls = files
            expect(try await refusal(server.url(), options), words, remedy: "redis.ca_file")
        }
    }

    /// The next connection reads the files again.
    @Test func `files that are replaced count`() async throws {
        let server = try await EncryptedRedis.start(asksForCertificate: true)
        let roots = server.authority.directory + "/roots.pem"
        let other = try TestAuthority()
        try FileManager.default.copyItem(atPath: other.caFile, toPath: roots)
        let identity = try server.authority.issue("client", life: -1)
        let redis = RedisClient(
            url: try server.url(), options: server.options(roots: roots, identity: identity), logger: .quiet)
        expect(await #expect(throws: RedisError.self) { try await redis.ping() }, "certificate", remedy: "signed")
        try FileManager.default.removeItem(atPath: roots)
        try FileManager.default.copyItem(atPath: server.authority.caFile, toPath: roots)
        try await eventually("the new roots are used", errorsPass: true) {
            do {
                try await redis.ping()
                Issue.record("with a certificate that has expired")
                return true
            } catch RedisError.insecure(_, let remedy) {
                return remedy.contains(identity.certificateFile)
            }
        }
        _ = try server.authority.issue("client")
        try await eventually("Redis answers", errorsPass: true) { try await redis.answers }
        await redis.close()
    }

    /// The handshake could take an hour.
    @Test(.timeLimit(.minutes(5))) func `closing ends a handshake at once`() async throws {
        let server = try FakeServer(greeting: "", answer: nil)
        defer { server.stop() }
        var options = RedisOptions()
        options.connectTimeout = .seconds(3_600)
        let redis = RedisClient(
            url: try RedisURL("rediss://127.0.0.1:\(server.port)"), connections: 1, options: options, logger: .quiet)
        async let refused: RedisError? = {
            do throws(RedisError) {
                try await redis.ping()
                return nil
            } catch {
                return error
            }
        }()
        try await eventually("a client is connected") { server.connections == 1 }
        await redis.close()
        #expect(await refused == .closed)
    }
}
