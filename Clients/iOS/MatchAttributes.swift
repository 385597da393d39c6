// Of the app and of its widget extension (docs/ios.md).
import ActivityKit
import LamplighterKit

nonisolated struct MatchAttributes: ActivityAttributes {
    struct ContentState: Codable, Hashable, LamplighterContent {
        var home: Int
        var away: Int
        var clock: String
        // The id of the push, for receipts.
        var lamplighter: String?
    }
    var name: String
}
