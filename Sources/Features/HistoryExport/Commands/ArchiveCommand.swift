import ArgumentParser
import HistoryExport
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

/// The history as files. It reads Redis itself, because the pages of the gateway do not say which pushes are new.
struct ArchiveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "archive", "Write finished pushes into a directory, for longer than Redis keeps them.",
        details: """
            This command reads Redis itself. It writes the finished pushes that DIR lacks, each once, as compressed NDJSON \
            by hour, two hours after they were accepted at the latest. docs/features/history-export.md has the layout, and \
            queries.
            """,
        examples: "archive /var/lib/lamplighter/pushes", "archive pushes --app shop --content --json")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Argument(help: "Directory to write to. It must be there.", completion: .directory) var directory: String
    @Option(help: .value("key", "Only this app. May be repeated. Default: all apps of the configuration."))
    var app: [String] = []
    @Flag(help: "The lines have the payloads too.") var content = false

    func run() async throws {
        let settings = try global.settings(redis.given)
        let apps = try settings.apps(named: app)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("archive", settings))
        try await store.checkFormat()
        try await store.time.measure()
        // The lock is held to the end.
        let target = try ExportDirectory(directory, apps: apps.map(\.key))
        let exporter = Exporter(store, withContent: content)
        var reports: [ExportReport] = []
        for app in apps { reports.append(try await exporter.run(app.key, in: target)) }
        await store.redis.close()
        Terminal.note(change: "the files are written")
        for lost in reports.compactMap(\.lost) { Terminal.error("warning: \(lost)") }
        if global.json {
            let answer = JSON.fields(["ok": true, "apps": .array(reports.map(\.json))])
            return Terminal.print(answer.text)
        }
        for report in reports {
            let (pushes, files) = (
                Terminal.counted(report.pushes, "push", "pushes"), Terminal.counted(report.files, "file")
            )
            let waiting = report.waiting > 0 ? ", \(Terminal.grouped(report.waiting)) are not final yet" : ""
            Terminal.print(
                "\(report.app): \(pushes) in \(files), all until \(TimeText.plainText(report.until)) UTC\(waiting)")
        }
    }
}
