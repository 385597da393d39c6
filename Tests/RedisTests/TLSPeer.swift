import Foundation
import TestSupport

/// `openssl s_server` in Redis's place. It sends typed text to the client, except for the letters that
/// are its own commands.
final class TLSPeer: Sendable {
    let port: Int
    let authority: TestAuthority
    private let program: Program
    private let keyboard: Int32

    /// Starts a peer. `options` are further options of s_server, such as `-tls1_2`.
    static func start(_ options: [String]) async throws -> TLSPeer {
        let peer = try TLSPeer(options)
        try await eventually("s_server listens") { peer.program.out.contains("ACCEPT") }
        return peer
    }

    private init(_ options: [String]) throws {
        authority = try TestAuthority()
        port = try freePort()
        let identity = try authority.issue("peer")
        let pipe = authority.directory + "/keyboard"
        guard mkfifo(pipe, 0o600) == 0 else { throw NeverHappened(description: "mkfifo: errno \(errno)") }
        // Open it for both directions, so that neither end waits for the other.
        keyboard = open(pipe, O_RDWR | O_CLOEXEC)
        guard keyboard >= 0 else { throw NeverHappened(description: "open: errno \(errno)") }
        // Lines are passed on at once, and \n is sent as Redis's end of a line.
        let words =
            "exec stdbuf -oL openssl s_server -accept 127.0.0.1:\(port) -cert \(identity.certificateFile)"
            + " -key \(identity.keyFile) -crlf \(options.joined(separator: " ")) <\(pipe)"
        program = try Program(["sh", "-c", words], directory: authority.directory, environment: [:])
    }

    deinit {
        program.kill()
        close(keyboard)
    }

    /// Types one line. A command counts only at the beginning of typed text, so wait for an answer in between.
    func type(_ line: String) { _ = write(keyboard, line + "\n", line.utf8.count + 1) }

    func waitFor(_ text: String, times: Int = 1) async throws {
        try await eventually("'\(text)' at s_server") { self.program.out.components(separatedBy: text).count > times }
    }
}
