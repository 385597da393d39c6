import APNsSimulator
import Glibc
import OpenSSL
import TestSupport
import Testing

extension TransportTests {
    @Suite struct TLSConnectionTests {
        /// Makes a TLS connection to the simulator over a blocking socket, so that the handshake is one call.
        private func handshake(
            _ it: Simulation, host: String, caFile: String?, applicationProtocol: String = "h2"
        ) throws -> String? {
            let descriptor = try connectedSocket(port: it.simulator.port)
            defer { close(descriptor) }
            let server = TLSServer(host: host, caFile: caFile, applicationProtocol: applicationProtocol)
            let connection = try TLSConnection(server, descriptor: descriptor)
            try #require(try connection.handshake() == .done(0))
            return connection.applicationProtocol
        }

        @Test func `the certificate is good for its names and addresses`() async throws {
            try await Simulation.run { it in
                for host in ["127.0.0.1", "localhost"] {
                    let found = try handshake(it, host: host, caFile: it.simulator.caFile)
                    #expect(found == "h2")
                }
            }
        }

        @Test func `another hosts certificate is refused`() async throws {
            try await Simulation.run { it in
                for host in ["apns.example", "127.0.0.2", "host"] {
                    let error = #expect(throws: TLSError.self) {
                        try handshake(it, host: host, caFile: it.simulator.caFile)
                    }
                    guard case .certificate(.wrongHost, let words)? = error else {
                        Issue.record("\(host): \(String(describing: error))")
                        continue
                    }
                    #expect(words.contains("mismatch"))
                }
            }
        }

        @Test func `a root that is not known is refused`() async throws {
            try await Simulation.run { it in
                let error = #expect(throws: TLSError.self) { try handshake(it, host: "127.0.0.1", caFile: nil) }
                guard case .certificate(.unknownIssuer, _)? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }

        @Test func `a missing file of roots is an error of the set up`() async throws {
            try await Simulation.run { it in
                let error = #expect(throws: TLSError.self) {
                    try handshake(it, host: "127.0.0.1", caFile: "/nonexistent/ca.pem")
                }
                guard case .setup? = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
    }
}
