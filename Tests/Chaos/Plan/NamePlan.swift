/// One activity. The channels `first ..< first + pool` of the run can follow it, and `initial` of them
/// do so from the start.
struct NamePlan: Sendable {
    var index: Int
    var initial: Int
    var pool: Int
    var first: Int
    var stages: [Stage]
    /// Whether pushes create its cards. No channel follows before a start came.
    var isStarted = false
    /// Whether the name owns a broadcast channel, which is made at the beginning of the run.
    var hasBroadcastChannel = false
    var hasOddName = false
    /// Whether its channels are forgotten now and then. No other name has them, because a channel is forgotten
    /// everywhere.
    var hasForgets = false

    var name: String {
        guard hasOddName else { return "chaos-\(index)" }
        // The first two differ only in their bytes. The others hold colons and braces, because these separate
        // the parts of Redis keys.
        switch index {
        case 1: return "chaos-caf\u{e9}"
        case 2: return "chaos-cafe\u{301}"
        default:
            let (before, after) = Self.odd[index % Self.odd.count]
            return before + "chaos-\(index)" + after
        }
    }
    private static let odd = [
        ("\u{301}", ""), ("", ""), ("{", "}%7B"), ("\u{200d}", ":\u{fe0f}"), ("}{%", " {q}"), ("\u{1f3fd}", " \u{e33}"),
    ]
    private static let unreserved = Set("abcdefghijklmnopqrstuvwxyz0123456789-".utf8)

    /// The path of the calls for this name.
    var path: String {
        "/api/activities/"
            + name.utf8.map { byte in
                Self.unreserved.contains(byte)
                    ? String(UnicodeScalar(byte))
                    : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }.joined()
    }

    /// The number of a push identifies its name where the record does not: start tokens get pushes of several names,
    /// and the simulator does not know whose a broadcast channel is.
    var numbersFrom: Int { isStarted || hasBroadcastChannel ? index * 1_000_000 : 0 }

    static func index(ofNumber number: Int) -> Int { number / 1_000_000 }
}
