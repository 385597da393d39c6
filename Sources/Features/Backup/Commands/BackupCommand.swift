import ArgumentParser
import Backup
import FoundationEssentials
import Glibc
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "backup", "Write names, tokens, channels, tags, users, schedules and schemas to a file.",
        details: """
            This command reads Redis itself, while the deployment works. The file is complete when it has its name; until \
            then it is FILE.part. A backup is not one moment: an entry that changes meanwhile is in it as it was before or \
            after. Pushes, their counts and retries are not in it.

            Without --key-file the file holds whole tokens in the clear. With it, it is encrypted with AES-256-GCM. \
            'restore' brings the entries back. docs/operations.md says when to use Redis's own backups.
            """,
        examples: "backup lamplighter.backup --key-file backup.key",
        "backup - --key-file backup.key | ssh vault 'cat >b'",
        "backup shop.backup --app shop --json")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Argument(help: "File to write. A dash writes to stdout.") var file: String
    @Option(help: .value("file", "Encrypt with the 64 hex digits of this file.")) var keyFile: String?
    @Option(help: .value("key", "Only this app. May be repeated. Default: all apps of the configuration."))
    var app: [String] = []

    func run() async throws {
        if file == "-", isatty(STDOUT_FILENO) == 1 { throw ValidationError("stdout is a terminal: name a file") }
        if file == "-", global.json { throw ValidationError("--json needs a file: stdout has the backup") }
        let settings = try global.settings(redis.given)
        let apps = try settings.apps(named: app)
        let key = try BackupFile.key(keyFile)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("backup", settings))
        try await store.checkFormat()
        let output = try NewFile(file)
        let entries: Int
        do {
            entries = try await write(apps, key, store, output)
            try output.finish()
        } catch {
            output.discard()
            throw error
        }
        await store.redis.close()
        Terminal.note(change: "the backup is written")
        if global.json {
            let report: JSON = [
                "ok": .bool(true), "file": .string(file), "entries": .integer(entries),
                "apps": .array(apps.map { .string($0.key.rawValue) }), "encrypted": .bool(key != nil),
            ]
            Terminal.print(report.text)
        } else if file != "-" {
            Terminal.print(
                "\(Terminal.counted(entries, "entry", "entries")) in \(file)\(key == nil ? "" : ", encrypted")")
        }
    }

    private func write(
        _ apps: [AppSettings], _ key: BackupKey?, _ store: Store, _ output: NewFile
    ) async throws -> Int {
        let header = BackupHeader(
            apps: apps.map(\.key.rawValue), createdAt: Int64(Date().timeIntervalSince1970 * 1_000),
            madeBy: Release.version, key: key)
        var writer = try BackupWriter(header, key: key) { try output.write($0) }
        var bar = ProgressBar()
        var tokens = 0
        for app in apps {
            try await store.backup.read(app.key) { entries in
                for entry in entries {
                    if case .tokens(_, let stored) = entry { tokens += stored.count }
                    try writer.append(app.key.rawValue, entry)
                }
                bar.draw(nil, "\(Terminal.grouped(tokens)) tokens, \(Terminal.grouped(writer.entries)) entries")
            }
        }
        try writer.finish()
        bar.draw(1, "\(Terminal.grouped(tokens)) tokens, \(Terminal.grouped(writer.entries)) entries", isLast: true)
        return writer.entries
    }
}
