import Foundation

/// Keeps the id of this install, which is its channel at the gateway.
protocol InstallStore: Sendable {
    /// - Returns: the stored id; at the first call `id`, which is stored now.
    /// - Throws: if the store cannot be read now, as the keychain before the first unlock. A new id would be wrong
    ///   then.
    func idOrStore(_ id: String) throws -> String
    /// - Returns: nil if nothing is stored.
    func stored() throws -> String?
    /// Stores another id, or none.
    func replace(with id: String?) throws
}

/// The id of this install, read once.
actor Install {
    private let store: any InstallStore
    private var known: String?

    init(_ store: any InstallStore) { self.store = store }

    func id() throws -> String {
        if let known { return known }
        let id = try store.idOrStore(UUID().uuidString.lowercased())
        known = id
        return id
    }

    /// Makes another id.
    func replace() throws {
        let id = UUID().uuidString.lowercased()
        try store.replace(with: id)
        known = id
    }
}

/// Keeps the id where the app's extensions find it. An id that the app kept for itself before it had an app group moves
/// there: the cards that began under it go on.
struct SharedInstallStore: InstallStore {
    let own: any InstallStore
    let shared: any InstallStore

    func idOrStore(_ id: String) throws -> String {
        guard let first = try own.stored() else { return try shared.idOrStore(id) }
        // An extension that ran first has made another one.
        try shared.replace(with: first)
        try own.replace(with: nil)
        return first
    }

    func stored() throws -> String? { try own.stored() ?? shared.stored() }

    func replace(with id: String?) throws {
        try shared.replace(with: id)
        try own.replace(with: nil)
    }
}

/// Keeps the id in a file, where there is no keychain.
struct FileInstallStore: InstallStore {
    let directory: URL

    private var path: String { directory.appendingPathComponent("install").path }

    func idOrStore(_ id: String) throws -> String {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let new = path + "." + id
        try Data(id.utf8).write(to: URL(fileURLWithPath: new))
        defer { unlink(new) }
        // A link fails if the name is taken. So of two processes that begin at once one wins, and both read its id.
        if link(new, path) == 0 { return id }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    func stored() throws -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }

    func replace(with id: String?) throws {
        if let id { return try Data(id.utf8).write(to: URL(fileURLWithPath: path), options: .atomic) }
        if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
    }
}
