import ArgumentParser
import Backup
import FoundationEssentials
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "restore", "Bring the entries of a backup back, into an empty or a running deployment.",
        details: """
            This command writes to Redis itself, so it works without a gateway. The deployment may be a single server, one \
            with sentinels or a cluster, whatever the backup came from. What the deployment has and is newer stays, also \
            removals. To restore a file twice changes nothing, so repeat the command after an error.

            A part of the file that is cut or changed is not restored. Schedules whose time has passed are left out, \
            because they may have been sent.
            """,
        examples: "restore lamplighter.backup --key-file backup.key", "restore lamplighter.backup --check",
        "restore shop.backup --redis-url redis+cluster://10.0.0.1:7000,10.0.0.2:7000")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Argument(help: "File to read. A dash reads stdin.") var file: String
    @Option(help: .value("file", "The file with the key of an encrypted backup.")) var keyFile: String?
    @Option(help: .value("key", "Only this app of the backup. May be repeated. Default: all its apps."))
    var app: [String] = []
    @Flag(help: "Only read the whole file and check it.") var check = false
    @Flag(help: "Also restore schedules whose time has passed. They go out at once.") var overdueSchedules = false

    func run() async throws {
        let key = try BackupFile.key(keyFile)
        guard let source = file == "-" ? .standardInput : InputFile(path: file) else {
            throw ValidationError("cannot read \(file)")
        }
        var reader = try reader(source, key)
        if let missing = app.first(where: { !reader.header.apps.contains($0) }) {
            throw CommandFailure(
                .failed, "the backup has no app '\(missing)'; it has \(reader.header.apps.joined(separator: ", "))")
        }
        if check {
            return report(try await each(&reader, source) { _ in RestoreCounts() }, reader.entries)
        }
        let settings = try global.settings(redis.given)
        let apps = try apps(settings, of: reader.header)
        // A restore writes back what was once allowed, also above a quota that is lower now.
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("restore", settings))
            .limited(quotas: [:])
        try await store.claimFormat()
        try await store.time.measure()
        // Before the first entry, because a restore that is cut off has changed something too.
        for app in apps {
            try await store.actions.add(app.key, [.restore(on: ProcessInfo.processInfo.hostName)])
        }
        let restores = Dictionary(
            apps.map { app in
                let restore = store.restore(endAfter: settings.endAfter(app), overdueSchedules: overdueSchedules)
                return (app.key.rawValue, (app.key, restore))
            }
        ) { first, _ in first }
        let counts = try await each(&reader, source) { chunk in
            var counts = RestoreCounts()
            for (name, part) in Dictionary(grouping: chunk, by: \.app) {
                guard let (app, restore) = restores[name] else { continue }
                counts += try await restore.write(app, part.map(\.entry))
            }
            return counts
        }
        await store.redis.close()
        Terminal.note(change: "the backup is restored")
        report(counts, reader.entries)
    }

    /// Opens the backup. A file of another kind is named, for example a Redis dump.
    private func reader(_ source: InputFile, _ key: BackupKey?) throws -> BackupReader {
        var isFirst = true
        do throws(BackupError) {
            return try BackupReader(key: key) {
                let bytes = try BackupFile.read(source, file)
                if isFirst, let form = TextForm.known(bytes) { throw BackupError.file("\(file): \(form)") }
                isFirst = false
                return bytes
            }
        } catch {
            throw BackupFile.failure(error, "")
        }
    }

    /// The apps to restore. All must be known before anything is written.
    private func apps(_ settings: Settings, of header: BackupHeader) throws -> [AppSettings] {
        let wanted = app.isEmpty ? header.apps : app
        let known = try settings.requiredApps().map(\.key.rawValue)
        if let unknown = wanted.first(where: { !known.contains($0) }) {
            throw CommandFailure(
                .configuration,
                "the backup has app '\(unknown)', and the configuration does not: it has \(known.joined(separator: ", "))\n"
                    + "add the app to the configuration, or name those to restore with --app")
        }
        return try wanted.map { try settings.app(named: $0) }
    }

    /// Gives each chunk to `body`, and reads the next one meanwhile. An error says how far it got.
    private func each(
        _ reader: inout BackupReader, _ source: InputFile,
        _ body: @escaping @Sendable ([(app: String, entry: BackupEntry)]) async throws -> RestoreCounts
    ) async throws -> RestoreCounts {
        var bar = ProgressBar()
        var done = 0
        var counts = RestoreCounts()
        let size = source.size
        let verb = check ? "are right" : "are restored"
        do {
            var next = try reader.next()
            while let chunk = next {
                async let written = body(chunk)
                let read = Result { try reader.next() }
                counts += try await written
                done += chunk.count
                let share = size.map { $0 == 0 ? 1 : Double(reader.bytesRead) / Double($0) }
                bar.draw(share, Terminal.counted(done, "entry", "entries"))
                next = try read.get()
            }
        } catch {
            bar.abandon()
            let entries = Terminal.counted(done, "entry", "entries")
            if let error = error as? BackupError {
                let remedy = check ? "" : "; restore a whole copy of the file, which completes the rest"
                throw BackupFile.failure(error, "the first \(entries) \(verb)\(remedy)")
            }
            guard let failure = CommandFailure(error) else { throw error }
            throw CommandFailure(failure.status, "\(failure.message)\nthe first \(entries) \(verb); repeat the command")
        }
        bar.draw(1, Terminal.counted(done, "entry", "entries"), isLast: true)
        return counts
    }

    private func report(_ counts: RestoreCounts, _ entries: Int) {
        let parts: [(String, Int)] = [
            ("names", counts.names), ("tokens_restored", counts.stored), ("tokens_kept", counts.kept),
            ("newer_removals", counts.removed),
            ("expired", counts.expired), ("unreadable", counts.unreadable), ("channels", counts.channels),
            ("schemas", counts.schemas), ("console_records", counts.records),
            ("broadcast_channels", counts.broadcasts), ("schedules", counts.schedules),
            ("schedules_overdue", counts.overdue),
        ]
        if global.json {
            let numbers = check ? [] : parts.map { JSON.Member($0.0, .integer($0.1)) }
            Terminal.print(JSON.object([.init("ok", .bool(true)), .init("entries", .integer(entries))] + numbers).text)
            return
        }
        if check { return Terminal.print("\(Terminal.counted(entries, "entry", "entries")), all right") }
        Terminal.print("\(Terminal.counted(entries, "entry", "entries")) restored")
        for (name, count) in parts where count > 0 {
            Terminal.print("  \(name.split(separator: "_").joined(separator: " ")): \(Terminal.grouped(count))")
        }
    }
}
