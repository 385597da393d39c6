import Foundation
import TestSupport

/// `openssl s_server` in Redis's place: what is typed to it goes to the client, but for the letters that are its commands.
final class TLSPeer: Sendable {
    let port: Int
    let authority: TestAuthority
    private let program: Program
    private let keyboard: Int32

    /// `options`: more of s_server's, such as `-tls1_2`.
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
        // For both, so that neither end waits for the other to be opened.
        keyboard = open(pipe, O_RDWR | O_CLOEXEC)
        guard keyboard >= 0 else { throw NeverHappened(description: "open: errno \(errno)") }
        // Lines come out when they are written, and \n goes out as Redis ends a line.
        let words =
            "exec stdbuf -oL openssl s_server -accept 127.0.0.1:\(port) -cert \(identity.certificateFile)"
            + " -key \(identity.keyFile) -crlf \(options.joined(separator: " ")) <\(pipe)"
        program = try Program(["sh", "-c", words], directory: authority.directory, environment: [:])
    }

    deinit {
        program.kill()
        close(keyboard)
    }

    /// A command counts only where it begins what was typed: wait for an answer in between.
    func type(_ line: String) { _ = write(keyboard, line + "\n", line.utf8.count + 1) }

    func waitFor(_ text: String, times: Int = 1) async throws {
        try await eventually("'\(text)' at s_server") { self.program.out.components(separatedBy: text).count > times }
    }
}
