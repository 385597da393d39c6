import APNsClient
import APNsSimulator
import Curl
import Foundation
import Lanes
import Logging
import OpenSSL
import Testing

@Suite struct ConfigurationTests {
    private func failure(_ kind: TransportKind = .libcurl, _ change: (inout APNsConfiguration) -> Void) throws -> String
    {
        var configuration = APNsConfiguration(
            origin: "https://127.0.0.1:1", teamID: "TEAM123456", keyID: "KEY1234567",
            keyPEM: try P256SigningKey.generatePEM())
        change(&configuration)
        do {
            _ = try LaneTransport(kind, configuration: configuration, logger: Logger(label: "test"))
            return "accepted"
        } catch {
            return "\(error)"
        }
    }

    @Test(arguments: [
        "http://127.0.0.1", "https://", "https://host/path", "https://user:word@host", "https://host:0",
        "https://host:x",
        "api.push.apple.com", "https://ho st", "https://host\r\n", "https://[::1", "https://a:b:1",
    ])
    func `an origin that is none is refused`(_ origin: String) throws {
        #expect(try failure { $0.origin = origin }.hasPrefix("apns url"))
    }

    @Test(arguments: ["https://api.push.apple.com", "https://127.0.0.1:8443", "https://[::1]:8443", "https://[::1]"])
    func `origins are accepted`(_ origin: String) throws {
        #expect(try failure { $0.origin = origin } == "accepted")
    }

    @Test(arguments: TransportKind.allCases)
    func `bad identifiers keys files and limits are named`(_ kind: TransportKind) throws {
        let good = try P256SigningKey.generatePEM()
        func ring(teamID: String = "T", keyID: String = "K", pem: [UInt8]? = nil) -> APNsKeyRing {
            APNsKeyRing([APNsKey(teamID: teamID, keyID: keyID, pem: pem ?? good)])
        }
        #expect(try failure(kind) { $0.keys = ring(teamID: "") }.hasPrefix("apns team_id"))
        #expect(try failure(kind) { $0.keys = ring(keyID: #"K","x":"y"#) }.hasPrefix("apns key_id"))
        #expect(
            try failure(kind) { $0.keys = ring(pem: Array("nonsense".utf8)) }.hasPrefix(
                "apns key_file: the signing key is unreadable")
        )
        #expect(try failure(kind) { $0.caFile = "/nonexistent/ca.pem" }.contains("No such file"))
        #expect(try failure(kind) { $0.caFile = "/dev/null" }.contains("holds no certificate"))
        #expect(try failure(kind) { $0.lanes = 0 }.hasPrefix("worker.lanes"))
        #expect(try failure(kind) { $0.maximumStreams = 0 }.hasPrefix("maximum streams"))
        #expect(try failure(kind) { $0.requestTimeout = .zero }.hasPrefix("request timeout"))
    }
}

@Suite struct ProbeTests {
    @Test func `an endpoint that answers in HTTP/2 is reachable`() async throws {
        try await Simulation.run { it in
            try await APNsProbe.check(origin: it.simulator.url, caFile: it.simulator.caFile)
            #expect(it.simulator.snapshot().accepted == 0)
        }
    }

    @Test func `what is wrong is told`() async throws {
        try await Simulation.run { it in #expect(await fault(it.simulator.url) == .transfer(.tls)) }
        #expect(await fault(try LoopbackPort(isListening: false).origin) == .transfer(.unconnectable))
        let silent = try LoopbackPort(isListening: true)
        #expect(await fault(silent.origin, timeout: .milliseconds(300)) == .transfer(.timeout))
        #expect(await fault("https://apns.invalid") == .transfer(.unresolvable))
        #expect(await fault("http://127.0.0.1") == .other)
    }

    private func fault(_ origin: String, timeout: Duration = .seconds(10)) async -> HTTPFailure.Kind? {
        do throws(HTTPFailure) {
            try await APNsProbe.check(origin: origin, timeout: timeout)
            return nil
        } catch {
            return error.kind
        }
    }
}

@Suite struct HTTPClientTests {
    @Test func `reads status headers and body and bounds it`() async throws {
        try await Simulation.run { it in
            let url = try #require(it.simulator.controlURL) + "/simulator/record"
            let response = try await HTTPClient().send(HTTPRequest("GET", url))
            #expect(response.status == 200)
            #expect(response.header("content-type")?.hasPrefix("application/json") == true)
            #expect(String(decoding: response.body, as: UTF8.self).contains("accepted_tokens"))
            await #expect(throws: HTTPFailure.self) {
                try await HTTPClient().send(HTTPRequest("GET", url), maximumBody: 10)
            }
        }
    }

    @Test func `a server without HTTP/2 is told apart`() async throws {
        try await Simulation.run { it in
            var request = HTTPRequest("GET", try #require(it.simulator.controlURL) + "/simulator/record")
            request.requiresHTTP2 = true
            do {
                _ = try await HTTPClient().send(request)
                Issue.record("an HTTP/1.1 answer was taken")
            } catch let error as HTTPFailure {
                #expect(error.kind == .http2Unavailable)
            }
        }
    }

    @Test func `a cancelled task ends its exchange`() async throws {
        let silent = try LoopbackPort(isListening: true)
        let task = Task { () -> HTTPFailure.Kind? in
            do {
                _ = try await HTTPClient().send(HTTPRequest("GET", "http://127.0.0.1:\(silent.number)/"))
                return nil
            } catch {
                return (error as? HTTPFailure)?.kind
            }
        }
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test func `a header cannot carry another one`() async throws {
        await #expect(throws: HTTPFailure.self) {
            try await HTTPClient().send(
                HTTPRequest("GET", "http://127.0.0.1:1/", headers: [("x", "a\r\nauthorization: b")]))
        }
    }
}

func openDescriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }
