import Store
import StrictJSON

extension StatusLine {
    static let intake = StatusLine(
        key: "intake",
        json: { app in
            ["waiting": .integer(waiting(app)), "oldest_ms": .integer(oldest(app))]
        },
        text: { app in
            guard waiting(app) > 0 else { return nil }
            let entries = Terminal.counted(waiting(app), "entry", "entries")
            return "\(entries) of the intake without an answer, the first \(ago(oldest(app)))"
        })

    private static func waiting(_ app: Snapshot.App) -> Int { Int(app[count: .intakeWaiting]) }
    private static func oldest(_ app: Snapshot.App) -> Int { Int(app[count: .intakeOldest] * 1_000) }
}
