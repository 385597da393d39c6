import Store
import StrictJSON

extension StatusLine {
    static let intake = StatusLine(key: "intake") { _, app, _ in
        let (waiting, oldest) = (Int(app[count: .intakeWaiting]), Int(app[count: .intakeOldest] * 1_000))
        let entries = Terminal.counted(waiting, "entry", "entries")
        let text = "\(entries) of the intake without an answer, the first \(ago(oldest))"
        return Found(
            json: ["waiting": .integer(waiting), "oldest_ms": .integer(oldest)], text: waiting > 0 ? text : nil)
    }
}
