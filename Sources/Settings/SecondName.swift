import LiveActivity
import Synchronization
import Threads

/// The second name of a setting, which gives its value in another way.
enum SecondName: Sendable, Hashable {
    /// `master_secret_file` names a file that holds the value of `master_secret`.
    case file
    /// `apns.key` is the text of the file that `apns.key_file` names.
    case text

    /// The path of the second name.
    func path(of path: String) -> String { self == .file ? path + "_file" : String(path.dropLast("_file".count)) }

    /// The value of the setting itself, for this value of its second name.
    /// - Parameter setting: the second name, for errors
    func value(_ entry: SettingsFile.Entry, of setting: String) throws(SettingsError) -> SettingsFile.Entry {
        switch self {
        case .file: .init(text: try SecretFile.text(entry, of: setting), origin: entry.origin)
        case .text: .init(text: try SecretFile.path(of: PEMText.file(entry.text), setting), origin: entry.origin)
        }
    }
}

extension SecondName {
    /// The value of a setting from one source: given by its own name or by the second one, not by both.
    static func entry(
        _ own: SettingsFile.Entry?, _ other: SettingsFile.Entry?, _ secondName: SecondName?, _ path: String
    ) throws(SettingsError) -> SettingsFile.Entry? {
        guard let other, let secondName else { return own }
        let second = secondName.path(of: path)
        guard own == nil else {
            throw .conflict(key: second, other.origin, reason: "\(path) is set too: leave one of them")
        }
        return try secondName.value(other, of: second)
    }
}

/// Files and standard input as the source of a secret, and as the place of one.
enum SecretFile {
    /// The name of standard input, in place of a file's.
    static let standardInput = "-"

    /// A path under which a library finds the file that an entry names.
    static func path(_ entry: SettingsFile.Entry, of setting: String) throws(SettingsError) -> String {
        guard entry.text == standardInput else { return entry.origin.resolved(entry.text) }
        return try path(of: try StandardInput.bytes(for: setting), setting)
    }

    static func path(of bytes: [UInt8], _ setting: String) throws(SettingsError) -> String {
        if let path = MemoryFile.path(of: bytes) { return path }
        throw .unusable(key: setting, reason: "the kernel gives no file in memory (memfd_create); give a file instead")
    }

    /// The secret in the file that an entry names, without white space at its ends.
    static func text(_ entry: SettingsFile.Entry, of setting: String) throws(SettingsError) -> String {
        let path = entry.origin.resolved(entry.text)
        func failure(_ problem: String, _ remedy: String) -> SettingsError {
            .file(setting: setting, path: path, problem: problem, remedy: remedy)
        }
        let bytes: [UInt8]
        if entry.text == standardInput {
            bytes = try StandardInput.bytes(for: setting)
        } else {
            guard let found = SettingsInput.contents(path) else {
                throw failure("cannot be read", "put the file there, and let the user of this process read it")
            }
            bytes = found
        }
        if let form = TextForm.foreign(bytes) { throw failure("is \(form.name)", form.remedy) }
        let text = String(decoding: TextForm.unmarked(bytes), as: UTF8.self).trimmed
        guard !text.isEmpty else { throw failure("is empty", "write the value into it") }
        return text
    }
}

/// The bytes of standard input. They are read once, for one setting, and kept: a reload asks again.
enum StandardInput {
    private static let read = Mutex<(setting: String, bytes: [UInt8])?>(nil)

    static func bytes(for setting: String) throws(SettingsError) -> [UInt8] {
        try read.withLock { read throws(SettingsError) in
            if let read {
                guard read.setting == setting else {
                    throw .unusable(key: setting, reason: "standard input is that of \(read.setting): give a file")
                }
                return read.bytes
            }
            guard let bytes = SettingsInput.contents("/dev/stdin") else {
                throw .unusable(key: setting, reason: "standard input cannot be read")
            }
            read = (setting, bytes)
            return bytes
        }
    }
}
