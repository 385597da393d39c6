/// The source of a value.
public enum SettingOrigin: Sendable, Hashable, CustomStringConvertible {
    case flag(String)
    case environment(String)
    /// The line counts from 1 and is nil if unknown.
    case file(String, line: Int?)
    case builtIn

    public var description: String {
        switch self {
        case .flag(let name): "--\(name)"
        case .environment(let name): name
        case .file(let path, let line): line.map { "\(path):\($0)" } ?? path
        case .builtIn: "default"
        }
    }

    /// Resolves a relative path of the file against its folder: it means the same in every working directory.
    func resolved(_ path: String) -> String {
        guard case .file(let file, _) = self, !path.hasPrefix("/"), let slash = file.lastIndex(of: "/") else {
            return path
        }
        return file[...slash] + path
    }
}
