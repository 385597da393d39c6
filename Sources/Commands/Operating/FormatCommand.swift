import ArgumentParser
import Redis
import Settings
import Store
import StrictJSON

/// `lamplighter format`: tells the number of the stored format, and raises it.
struct FormatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "format", "Tell the format of what Redis holds, or raise it.",
        details: """
            A new deployment has the newest format. An older one keeps its format when it is upgraded, so that the \
            older version can come back. Raise it once all gateways and workers run this version: until then a push \
            costs more of Redis. Processes of an older version stop in order within ten seconds, and exit with 78.
            """,
        examples: "format", "format --raise")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Flag(name: .customLong("raise"), help: "Raise it to the newest that this version knows.") var raises = false

    func run() async throws {
        let settings = try global.settings(redis.given)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("format", settings))
        let before = try await store.checkFormat()
        if raises { try await store.raiseFormat() }
        await store.redis.close()
        let (newest, now) = (StoredFormat.current, raises ? StoredFormat.current : before)
        if global.json {
            let numbers: JSON = ["format": .integer(Int64(now)), "newest": .integer(Int64(newest))]
            return Terminal.print(numbers.text)
        }
        switch (before, raises) {
        case (newest, _): Terminal.print("format \(newest), the newest that \(Release.version) knows")
        case (_, true): Terminal.print("raised from \(before) to \(newest); an older version cannot come back")
        case (_, false):
            Terminal.print("format \(before); \(Release.version) knows \(newest): lamplighter format --raise")
        }
    }
}
