import LiveActivity
import Store
import StrictJSON

// Times are epoch ms.

extension Alarm {
    /// Its kind, with a platform other than iOS.
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
