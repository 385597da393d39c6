import Foundation
import TestSupport
import Testing

/// Gateways and workers as units of systemd with `Type=notify`.
@Suite("A service manager")
struct ServiceManagerTests {
    @Test(arguments: ["", "@"])
    func `a start is done when doctor sees the process, and a stop is told`(form: String) async throws {
        let deployment = try await Deployment.start()
        let started = deployment.gateway
        started.signal(SIGTERM)
        _ = await started.end()
        for (command, seen) in [
            ("serve --port 0", #/✓ gateways +1 gateway at work/#), ("work", #/✓ workers shop +1 worker at work/#),
        ] {
            let manager = try NotifySocket(form + deployment.directory + "/notify-\(command.prefix(1))")
            let program = try Program(
                [Program.path] + command.split(separator: " ").map(String.init), directory: deployment.directory,
                environment: deployment.environment.merging(["NOTIFY_SOCKET": manager.name]) { $1 })
            #expect(await manager.next() == "READY=1")
            let doctor = try await deployment.run("doctor")
            #expect(doctor.code == 0 && doctor.out.contains(seen), "\(doctor.out)")
            program.signal(SIGTERM)
            #expect(await manager.next() == "STOPPING=1")
            #expect(await program.end()?.code == 0)
        }
    }

    @Test func `a wrong configuration ends without a word to it`() async throws {
        let deployment = try await Deployment.start()
        let manager = try NotifySocket(deployment.directory + "/notify")
        let output = try await deployment.run(
            ["work"], environment: ["NOTIFY_SOCKET": manager.name, "LAMPLIGHTER_WORKER_LANES": "abc"])
        #expect(output.code == 78 && manager.isEmpty)
    }
}

/// The socket of a service manager.
private final class NotifySocket: Sendable {
    let name: String
    private let descriptor: Int32

    init(_ name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard bound == 0 else { throw POSIXError(.EADDRINUSE) }
    }

    deinit { close(descriptor) }

    /// The next message, on a thread that may block.
    func next() async -> String {
        await withCheckedContinuation { continuation in
            Thread { [descriptor] in
                var buffer = [UInt8](repeating: 0, count: 256)
                let count = recv(descriptor, &buffer, buffer.count, 0)
                continuation.resume(returning: String(decoding: buffer[..<max(0, count)], as: UTF8.self))
            }.start()
        }
    }

    var isEmpty: Bool {
        var byte: UInt8 = 0
        return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) < 0
    }
}
