import LiveActivity
import Store
import StrictJSON

// Times are epoch ms.

extension Alarm {
    var json: JSON {
        [
            "app": .string(app.rawValue), "kind": .string(kind.rawValue), "reason": .string(reason),
            "since": .integer(since),
        ]
    }
}

extension Pause {
    var json: JSON {
        .fields(["app": .string(app.rawValue), "name": name.map { .string($0.rawValue) }, "since": .integer(since)])
    }
}
