public import Foundation

/// The files beside which these tests were built: documents, scripts and examples.
public enum Repository {
    public static let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized

    /// The text of a file, such as `docs/api.md`.
    public static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }
}
