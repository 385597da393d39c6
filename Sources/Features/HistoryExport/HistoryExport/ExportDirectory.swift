import FoundationEssentials
import Glibc
import Gzip
public import LiveActivity
import StrictJSON

/// The directory of an export, which one process at a time writes. Others read it meanwhile:
///
///     app=shop/date=2026-11-21/hour=18/part-00000001.ndjson.gz
///     _lamplighter/shop.json            how far the export of the app has got (`ExportState`)
///     _lamplighter/shop-00000002.part   a file that is not complete
///     _lamplighter/lock
///
/// A file counts as exported from the moment when the state says so. A process that dies leaves this behind at each
/// step:
/// 1. The part is written, and the disk has it: the state does not know it. It is removed, and its pushes come again.
/// 2. The state replaces the one before: it names the part. The next export gives the part its name.
/// 3. The part gets its name: nothing is left to do.
public final class ExportDirectory: Sendable {
    /// The steps of a commit, for tests that end there.
    enum Step: CaseIterable { case written, stateWritten, committed, named }

    private static let own = "_lamplighter"
    private static let most = 1 << 30

    let path: String
    private let lock: Int32

    /// Takes the lock, and finishes the part of an export that died.
    /// - Parameter apps: the apps that are exported
    public init(_ path: String, apps: [AppKey]) throws(ExportError) {
        self.path = path
        var there = stat()
        guard stat(path, &there) == 0 else { throw .noDirectory(path, why: String(cString: strerror(errno))) }
        guard there.st_mode & S_IFMT == S_IFDIR else { throw .noDirectory(path, why: "it is not a directory") }
        try Self.make(path + "/" + Self.own)
        let file = "\(path)/\(Self.own)/lock"
        lock = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o640)
        guard lock >= 0 else { throw .system(file) }
        guard flock(lock, LOCK_EX | LOCK_NB) == 0 else {
            if errno == EWOULDBLOCK { throw .busy(path) }
            throw .file(file, why: "it cannot be locked: \(String(cString: strerror(errno)))")
        }
        for app in apps { try recover(app) }
    }

    deinit { close(lock) }

    /// Gives the lock back. A thread that has just ended, or a child before its exec, may have this object for a moment
    /// longer.
    public func unlock() { flock(lock, LOCK_UN) }

    /// Gives the last file its name, if an export died before it did, and removes parts that no state names.
    private func recover(_ app: AppKey) throws(ExportError) {
        if let last = try state(app)?.last { try name(last) }
        let folder = path + "/" + Self.own
        for file in try Self.files(of: folder) where file.hasPrefix("\(app)-") && file.hasSuffix(".part") {
            // An app's key may have a dash too.
            if Int(file.dropFirst("\(app)-".utf8.count).dropLast(".part".utf8.count)) != nil {
                unlink(folder + "/" + file)
            }
        }
    }

    /// - Returns: nil before the first export of the app
    func state(_ app: AppKey) throws(ExportError) -> ExportState? {
        let file = stateFile(app)
        guard let bytes = try Self.read(file) else { return nil }
        do { return try ExportState(bytes) } catch { throw .unreadable(file, why: "\(error)") }
    }

    private func stateFile(_ app: AppKey) -> String { "\(path)/\(Self.own)/\(app).json" }

    /// A new file for pushes of an hour, and where it will be.
    func newFile(_ app: AppKey, hour: Int64, number: Int) throws(ExportError) -> (ExportFile, ExportState.LastFile) {
        let digits = String(number)
        let name = String(repeating: "0", count: max(0, 8 - digits.utf8.count)) + digits
        let last = ExportState.LastFile(
            part: "\(Self.own)/\(app)-\(name).part",
            path: ExportState.folders(app, hour: hour).joined(separator: "/") + "/part-\(name).ndjson.gz")
        return (try ExportFile(path + "/" + last.part), last)
    }

    /// Makes a new state valid, and the file that it names complete. It blocks until the disk has both.
    /// - Parameters:
    ///   - part: of that file; nil: the state names no new one
    ///   - reached: told after each step
    func commit(
        _ app: AppKey, _ state: ExportState, part: Int32?, reached: (Step) throws -> Void = { _ in }
    ) throws {
        if let part, fsync(part) != 0 { throw ExportError.system(state.last?.part ?? "") }
        try reached(.written)
        let path = stateFile(app)
        let new = path + ".new"
        unlink(new)
        let descriptor = open(new, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else { throw ExportError.system(new) }
        defer { close(descriptor) }
        try ExportFile.write(state.json.bytes + [UInt8(ascii: "\n")], descriptor, new)
        guard fsync(descriptor) == 0 else { throw ExportError.system(new) }
        // The disk must know the part before a state that names it.
        try Self.sync(self.path + "/" + Self.own)
        try reached(.stateWritten)
        guard rename(new, path) == 0 else { throw ExportError.system(path) }
        try Self.sync(self.path + "/" + Self.own)
        try reached(.committed)
        if part != nil, let last = state.last { try name(last) }
        try reached(.named)
    }

    func remove(_ file: ExportFile) { unlink(file.part) }

    /// Gives a part its name, if it still has the other one.
    private func name(_ file: ExportState.LastFile) throws(ExportError) {
        let (part, target) = ("\(path)/\(file.part)", "\(path)/\(file.path)")
        var there = stat()
        guard stat(part, &there) == 0 else { return }
        var folder = path
        for name in file.path.split(separator: "/").dropLast() {
            try Self.make(folder + "/" + name)
            try Self.sync(folder)
            folder += "/" + name
        }
        guard rename(part, target) == 0 else { throw .system(target) }
        try Self.sync(folder)
    }

    /// The pushes that the complete files of an hour hold.
    func pushes(_ app: AppKey, hour: Int64) throws(ExportError) -> Set<PushID> {
        let folder = path + "/" + ExportState.folders(app, hour: hour).joined(separator: "/")
        guard access(folder, F_OK) == 0 else { return [] }
        var found: Set<PushID> = []
        for name in try Self.files(of: folder) where name.hasSuffix(".ndjson.gz") {
            let file = folder + "/" + name
            do { try Self.eachLine(file) { found.insert(try Self.push($0)) } } catch {
                throw .unreadable(file, why: "\(error)")
            }
        }
        return found
    }

    private static func push(_ line: [UInt8]) throws -> PushID {
        let value = try JSONDocument(line).root.object().required("push_id")
        guard let id = PushID(try value.string()) else { throw value.error("is no push id") }
        return id
    }

    private static func eachLine(_ file: String, _ body: ([UInt8]) throws -> Void) throws {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw ExportError.system(file) }
        defer { close(descriptor) }
        var reader = GzipReader()
        var rest: [UInt8] = []
        while true {
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 18) { room, count in
                count = max(0, Glibc.read(descriptor, room.baseAddress, room.count))
            }
            if bytes.isEmpty { break }
            rest += try reader.add(bytes)
            var lines = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(lines.removeLast())
            for line in lines where !line.isEmpty { try body(Array(line)) }
        }
        guard reader.isWhole else { throw GzipError.broken }
        if !rest.isEmpty { try body(rest) }
    }

    private static func make(_ folder: String) throws(ExportError) {
        guard mkdir(folder, 0o750) == 0 || errno == EEXIST else { throw .system(folder) }
    }

    /// Returns when the disk knows the names in a folder.
    private static func sync(_ folder: String) throws(ExportError) {
        let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .system(folder) }
    }

    private static func files(of folder: String) throws(ExportError) -> [String] {
        do { return try FileManager.default.contentsOfDirectory(atPath: folder).sorted() } catch {
            throw .file(folder, why: "\(error)")
        }
    }

    /// - Returns: nil if there is no such file
    private static func read(_ file: String) throws(ExportError) -> [UInt8]? {
        guard access(file, F_OK) == 0 else { return nil }
        guard let data = FileManager.default.contents(atPath: file), data.count <= most else {
            throw .unreadable(file, why: "it cannot be read")
        }
        return Array(data)
    }
}
