/// The reason why an export stops. Nothing is exported twice when it is repeated.
public enum ExportError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The directory is not there, or is something else.
    case noDirectory(String, why: String)
    /// Another process has the directory's lock.
    case busy(String)
    case otherDeployment(String)
    /// A state of a newer version, or one that somebody changed.
    case unreadable(String, why: String)
    case file(String, why: String)

    /// Whether a repetition without another directory fails too.
    public var isLasting: Bool {
        switch self {
        case .noDirectory, .otherDeployment, .unreadable: true
        case .busy, .file: false
        }
    }

    public var description: String {
        switch self {
        case .noDirectory(let path, let why): "cannot export to \(path): \(why); make the directory first"
        case .busy(let path): "another process is exporting to \(path)"
        case .otherDeployment(let path):
            "\(path) was written for another deployment, or for this one before its Redis lost all data; export to a new "
                + "directory"
        case .unreadable(let path, let why):
            "\(path): \(why); without this file an export begins anew, and writes again what is there"
        case .file(let path, let why):
            "cannot write \(path): \(why); what is not in a complete file is exported the next time"
        }
    }
}
