import Curl
import Foundation
import Logging
import OpenSSL
import TestSupport
import Testing

@testable import APNsSimulator

@Suite(.timeLimit(.minutes(5)))
struct CertificatesTests {
    private let logger: Logger = {
        var logger = Logger(label: "simulator")
        logger.logLevel = .critical
        return logger
    }()

    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory + "/certificates")
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    /// A client with the same `ca.pem` works again after a restart, under each of the server's names.
    @Test func `the CA outlives the simulator`() async throws {
        try await withDirectory { directory in
            var authorities: [String] = []
            for _ in 0..<2 {
                let configuration = SimulatorConfiguration(certificateDirectory: directory)
                let simulator = try await APNsSimulator.start(configuration, logger: logger)
                authorities.append(try String(contentsOfFile: simulator.caFile, encoding: .utf8))
                for host in ["127.0.0.1", "localhost"] {
                    var request = HTTPRequest("POST", "https://\(host):\(simulator.port)/3/device/aa")
                    request.caFile = simulator.caFile
                    request.requiresHTTP2 = true
                    #expect(try await HTTPClient().send(request).status == 403)
                }
                await simulator.stop()
            }
            #expect(authorities[0] == authorities[1])
            #expect(try mode("\(directory)/ca.key") == 0o600)
            #expect(try mode("\(directory)/AuthKey_SIMULATOR1.p8") == 0o600)
        }
    }

    @Test func `an unreadable CA is replaced`() async throws {
        try await withDirectory { directory in
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try "not a certificate".write(toFile: "\(directory)/ca.pem", atomically: true, encoding: .utf8)
            let simulator = try await APNsSimulator.start(
                SimulatorConfiguration(certificateDirectory: directory), logger: logger)
            #expect(try String(contentsOfFile: simulator.caFile, encoding: .utf8).contains("BEGIN CERTIFICATE"))
            await simulator.stop()
        }
    }

    @Test func `a client that does not trust the CA is not served`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let other = try Certificates.prepare(directory: fixture.directory + "/other", host: "127.0.0.1")
            var request = HTTPRequest("POST", fixture.simulator.url + "/3/device/aa")
            request.caFile = other.caFile
            await #expect(throws: HTTPFailure.self) { try await HTTPClient().send(request) }
        }
    }

    @Test(arguments: ["http/1.1", nil]) func `a client without HTTP/2 is not served`(applicationProtocol: String?)
        async throws
    {
        try await SimulatorFixture.run { fixture async throws in
            // The connection is closed right after the handshake, before or after the client's first bytes.
            let connection = try? await RawConnection.open(fixture.simulator, applicationProtocol: applicationProtocol)
            #expect(await connection?.remaining().isEmpty ?? true)
            #expect(fixture.simulator.snapshot().requests == 0)
        }
    }

    /// Without keys, the simulator makes one with which a sender can sign.
    @Test func `the simulators own provider key`() async throws {
        try await SimulatorFixture.run({ $0.keys = [] }) { fixture async throws in
            let key = try #require(fixture.simulator.keys.first)
            guard case .file(let path) = key.material else {
                Issue.record("the key is not in a file")
                return
            }
            let signing = try P256SigningKey(pem: Array(Data(contentsOf: URL(fileURLWithPath: path))))
            let token = try fixture.jwt(kid: key.keyID, iss: key.teamID, key: signing)
            #expect(try await fixture.push(headers: fixture.headers(jwt: token)).status == 200)
        }
    }

    @Test func `keys that are none`() async throws {
        try await withDirectory { directory in
            for (material, word) in [
                (ProviderKey.Material.pem("nonsense"), "P-256"), (.file("/nonexistent/key.p8"), "/nonexistent/key.p8"),
            ] {
                var configuration = SimulatorConfiguration(certificateDirectory: directory)
                configuration.keys = [ProviderKey(keyID: "K", teamID: "T", material: material)]
                do {
                    _ = try await APNsSimulator.start(configuration, logger: logger)
                    Issue.record("started with \(material)")
                } catch {
                    #expect("\(error)".contains(word))
                }
            }
        }
    }

    @Test func `a port in use is named`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            var configuration = SimulatorConfiguration(certificateDirectory: fixture.directory)
            configuration.port = fixture.simulator.port
            configuration.controlPort = nil
            do {
                // SO_REUSEADDR does not let two listeners share a port.
                _ = try await APNsSimulator.start(configuration, logger: logger)
                Issue.record("two simulators on one port")
            } catch {
                #expect("\(error)".contains(":\(fixture.simulator.port)"))
            }
        }
    }

    /// A service ends when it is cancelled, and its ports are free then.
    @Test func `run ends with its task`() async throws {
        try await SimulatorFixture.run { fixture async throws in
            let simulator = fixture.simulator
            let run = Task { try await simulator.run() }
            #expect(try await fixture.push().status == 200)
            run.cancel()
            try await run.value
            await #expect(throws: HTTPFailure.self) { try await fixture.push(timeout: .seconds(5)) }
        }
    }
}
