import Foundation

/// Keeps the id of this install, which is its channel at the gateway.
protocol InstallStore: Sendable {
    /// - Returns: the stored id; at the first call `id`, which is stored now.
    /// - Throws: if the store cannot be read now, as the keychain before the first unlock. A new id would be wrong
    ///   then.
    func idOrStore(_ id: String) throws -> String
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
}

/// Keeps the id in a file, where there is no keychain.
struct FileInstallStore: InstallStore {
    let directory: URL

    func idOrStore(_ id: String) throws -> String {
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.appendingPathComponent("install").path
        let new = path + "." + id
        try Data(id.utf8).write(to: URL(fileURLWithPath: new))
        defer { unlink(new) }
        // A link fails if the name is taken. So of two processes that begin at once one wins, and both read its id.
        if link(new, path) == 0 { return id }
        return String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
    }
}
