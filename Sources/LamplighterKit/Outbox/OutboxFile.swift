import Foundation

/// The file of the outbox. Two processes may change it: each change is read, made and written under a lock.
///
/// A write goes to another file, which then takes the place of the old one. So a process that is killed in the middle
/// of a write leaves the old file as it was. The lock is held for one change, never during a request: iOS kills an app
/// that it suspends with a lock in a shared container.
struct OutboxFile: Sendable {
    enum Failure: Error, Hashable, CustomStringConvertible {
        case system(call: String, errno: Int32)
        /// The content cannot be read. The file was moved aside.
        case damaged(String)

        var description: String {
            switch self {
            case .system(let call, let number): "\(call): \(String(cString: strerror(number)))"
            case .damaged(let path): "the outbox could not be read and is now \(path)"
            }
        }
    }

    let directory: URL
    private var path: String { directory.appendingPathComponent("outbox.json").path }
    private var newPath: String { directory.appendingPathComponent("outbox.new").path }
    private var lockPath: String { directory.appendingPathComponent("outbox.lock").path }

    /// Changes the stored state, or a new one if there is none of this install.
    ///
    /// - Parameter damaged: called if the file was damaged.
    /// - Returns: the state, which is on disk.
    func change(
        install: String, damaged: (Failure) -> Void = { _ in }, _ body: (inout OutboxState) -> Void
    ) throws -> OutboxState {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let lock = try check("open", open(lockPath, O_CREAT | O_RDWR | O_CLOEXEC, 0o600))
        // Closing the file gives the lock back. So does the end of the process.
        defer { close(lock) }
        _ = try check("flock") { flock(lock, LOCK_EX) }
        let old = try read(damaged: damaged)
        var state = old?.install == install ? old ?? OutboxState(install: install) : OutboxState(install: install)
        body(&state)
        if state != old { try write(state) }
        return state
    }

    /// Takes the files of an app that had no app group before, in place of the files of an extension that ran first.
    static func move(from own: URL, to shared: URL) {
        for name in ["outbox.json", "attested-key"] {
            let old = own.appendingPathComponent(name).path
            if access(old, F_OK) == 0 { _ = rename(old, shared.appendingPathComponent(name).path) }
        }
    }

    /// The stored state. Nil: there is no file, or its content is damaged.
    private func read(damaged: (Failure) -> Void) throws -> OutboxState? {
        let data: Data
        do { data = try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            // A file that cannot be read now, as before the first unlock, is not lost.
            guard access(path, F_OK) != 0, errno == ENOENT else { throw error }
            return nil
        }
        do { return try JSONDecoder().decode(OutboxState.self, from: data) } catch {
            let aside = path + ".damaged"
            _ = try check("rename", rename(path, aside))
            damaged(.damaged(aside))
            return nil
        }
    }

    private func write(_ state: OutboxState) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = [UInt8](try encoder.encode(state))
        let file = try check("open", open(newPath, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600))
        do {
            defer { close(file) }
            var written = 0
            while written < bytes.count {
                written += try check("write") {
                    bytes.withUnsafeBytes { Foundation.write(file, $0.baseAddress! + written, bytes.count - written) }
                }
            }
            _ = try check("fsync") { fsync(file) }
        }
        _ = try check("rename", rename(newPath, path))
    }

    private func check(_ call: String, _ result: Int32) throws -> Int32 {
        guard result >= 0 else { throw Failure.system(call: call, errno: errno) }
        return result
    }

    /// Repeats a call that a signal interrupts.
    private func check<R: SignedInteger>(_ call: String, _ body: () -> R) throws -> R {
        while true {
            let result = body()
            if result >= 0 { return result }
            guard errno == EINTR else { throw Failure.system(call: call, errno: errno) }
        }
    }
}
