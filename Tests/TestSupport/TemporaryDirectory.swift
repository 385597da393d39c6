import Foundation

/// Makes a directory of its own, which the caller removes.
public func temporaryDirectory() throws -> String {
    let path = FileManager.default.temporaryDirectory.path + "/lamplighter-" + UUID().uuidString.prefix(8)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
}

/// A directory of its own. It is removed with everything in it when this object is released.
public final class TemporaryDirectory: Sendable {
    private let root: String

    public init() throws { root = try temporaryDirectory() }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    public func path(_ name: String) -> String { root + "/" + name }

    public func write(_ name: String, _ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: path(name)))
    }
}
