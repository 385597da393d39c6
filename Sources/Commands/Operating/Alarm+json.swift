import LiveActivity
import Store
import StrictJSON

// Times are epoch ms.

extension Alarm {
    /// A line of a terminal without the time: the app, the kind with a platform other than iOS, and the reason.
    var line: String { "app \(app): \(kind.rawValue)\(platformName.map { " (\($0))" } ?? ""): \(reason)" }

    var json: JSON {
        .fields([
            "app": .string(app.rawValue), "kind": .string(kind.rawValue), "platform": platformName.map(JSON.string),
            "reason": .string(reason), "since": .integer(since),
        ])
    }
}

extension Pause {
    var json: JSON {
        .fields(["app": .string(app.rawValue), "name": name.map { .string($0.rawValue) }, "since": .integer(since)])
    }
}
