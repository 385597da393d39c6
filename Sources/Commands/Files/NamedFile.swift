import FoundationEssentials
import Glibc
import LiveActivity
import OpenSSL
import Redis
import Settings
import Store
import Threads

/// A file that a setting names. Each problem says the setting, the path and what to do.
struct NamedFile {
    /// The setting's name for an operator, such as `apns.key_file of app 'shop'`.
    let setting: String
    let path: String

    func failure(_ problem: String, _ remedy: String) -> SettingsError {
        // A text in a variable, or from standard input, has a path that says nothing.
        .file(setting: setting, path: MemoryFile.isOne(path) ? "its text" : path, problem: problem, remedy: remedy)
    }

    /// True if the file is there, but not for this process's user.
    var isWithheld: Bool { access(path, F_OK) == 0 && access(path, R_OK) != 0 && errno == EACCES }

    /// True if this process does not find the file, also because it may not look into the folder.
    var isAbsent: Bool { access(path, F_OK) != 0 }

    /// - Parameter limit: a larger file is something else.
    func bytes(limit: Int) throws(SettingsError) -> [UInt8] {
        var isDirectory = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw failure("does not exist", "correct the path, or put the file there")
        }
        if isDirectory { throw failure("is a directory", "name a file in it") }
        guard let data = FileManager.default.contents(atPath: path) else {
            throw failure("cannot be read by this user", "let the user of this process read it")
        }
        guard data.count <= limit else { throw failure("is larger than \(limit >> 10) KB", "name the right file") }
        return [UInt8](data)
    }

    /// The bytes of a file in PEM, without a byte order mark. OpenSSL would not find the first line behind one.
    func pem(_ wanted: PEMForm.Content, limit: Int = 1 << 20) throws(SettingsError) -> [UInt8] {
        try pem(wanted, in: try bytes(limit: limit))
    }

    private func pem(_ wanted: PEMForm.Content, in bytes: [UInt8]) throws(SettingsError) -> [UInt8] {
        if let (problem, remedy) = PEMForm.problem(bytes, wanted) { throw failure(problem, remedy) }
        return TextForm.unmarked(bytes)
    }

    /// Checks a file in PEM that a library reads by itself, so that it must begin as the library wants it.
    func check(_ wanted: PEMForm.Content) throws(SettingsError) {
        let bytes = try bytes(limit: 16 << 20)
        if TextForm.isMarked(bytes) { throw failure("begins with a byte order mark", "save it as UTF-8 without one") }
        let pem = try pem(wanted, in: bytes)
        if wanted == .certificate, TrustAnchors.count(pem: pem) == 0 {
            throw failure("holds no certificate that can be read", "give the file as it was issued, in PEM")
        }
    }

    /// A secret, without white space at its ends.
    /// - Parameter violation: the rule that a text breaks; nil if it breaks none.
    func secret(_ violation: (String) -> String?) throws(SettingsError) -> String {
        let bytes = try bytes(limit: 64 << 10)
        if let form = TextForm.foreign(bytes) { throw failure("is \(form.name)", form.remedy) }
        let text = String(decoding: TextForm.unmarked(bytes), as: UTF8.self).trimmed
        if let rule = violation(text) { throw failure("does not hold \(rule)", "write such a secret into it") }
        return text
    }
}

extension Settings {
    /// Checks the files of a connection to Redis. A connection reads them again, but its errors name no form.
    func checkRedisFiles() throws(SettingsError) {
        let files: [(String, String?, PEMForm.Content)] = [
            ("redis.ca_file", redisTLS.roots, .certificate), ("redis.cert_file", redisTLS.certificate, .certificate),
            ("redis.key_file", redisTLS.key, .privateKey),
        ]
        for case (let setting, let path?, let wanted) in files {
            try NamedFile(setting: setting, path: path).check(wanted)
        }
    }

    /// Warns of secrets in files that begin and end with a quote. A file that cannot be read is reported elsewhere.
    var quotedSecretFiles: [String] {
        let files = apps.flatMap { app in
            app.credentials.compactMap { entry in entry.secretFile.map { app.secretFile(of: entry.credential.id, $0) } }
                + AppField.all.filter { $0.content == .secret }.compactMap(app.file)
        }
        return files.filter { file in (try? file.secret { _ in nil }).map(SettingsInput.isQuoted) ?? false }
            .map { "\($0.setting): the secret in \($0.path) is in quotes, which count as a part of it" }
    }
}

extension AppSettings {
    /// Checks the certificates that a worker needs for the servers of an app.
    func checkCertificates() throws(SettingsError) {
        for field in AppField.all where field.content == .roots { try file(field)?.check(.certificate) }
    }

    /// The file that a setting of the app names. Nil if it names none.
    func file(_ field: AppField) -> NamedFile? {
        self[field].map { NamedFile(setting: "\(field.path) of app '\(key)'", path: $0) }
    }

    func secretFile(of credential: String, _ path: String) -> NamedFile {
        NamedFile(setting: "secret_file of credential '\(credential)' of app '\(key)'", path: path)
    }
}
