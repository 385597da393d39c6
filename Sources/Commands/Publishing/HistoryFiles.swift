import HistoryExport
import LiveActivity
import Redis
import Settings
import Store
import StrictJSON

/// The history as files. It reads Redis itself, because the pages of the gateway do not say which pushes are new.
struct HistoryFiles {
    let directory: String
    let withContent: Bool
    let command: HistoryCommand

    func write() async throws {
        let options = command.gateway
        let settings = try options.settings()
        let apps = try options.app.map { [try settings.app(named: $0)] } ?? settings.requiredApps()
        let store = try await RedisInspection.store(settings, logger: options.global.quietLogger("export", settings))
        try await store.checkFormat()
        try await store.time.measure()
        // The lock is held to the end.
        let target = try ExportDirectory(directory, apps: apps.map(\.key))
        let exporter = Exporter(store, withContent: withContent)
        var reports: [ExportReport] = []
        for app in apps { reports.append(try await exporter.run(app.key, in: target)) }
        await store.redis.close()
        Terminal.note(change: "the files are written")
        for lost in reports.compactMap(\.lost) { Terminal.error("warning: \(lost)") }
        if options.json {
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
