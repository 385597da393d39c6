import Answers
import LiveActivity

/// The rooms that move: the names of the newest pushes of the last day. Each has what it says, and its last hour as a
/// line.
struct Board {
    /// So many of the newest pushes are read.
    static let pushes = 100
    private static let mostRooms = 8
    private static let (day, minute, minutes): (Int64, Int64, Int) = (86_400_000, 60_000, 60)
    /// The height of the line, in its own units.
    private static let height = 20.0

    private let history: HistoryAnswer
    private let now: Int64
    /// The newest push of each room.
    let newest: [LedgerAnswer]

    /// - Parameter now: epoch ms
    init(_ history: HistoryAnswer, now: Int64) {
        (self.history, self.now) = (history, now)
        var known: Set<String> = []
        let moving = history.pushes.filter { push in
            push.test != true && TimeText.parse(push.createdAt).map { now - $0 < Self.day } == true
                && known.insert(push.name).inserted
        }
        newest = Array(moving.prefix(Self.mostRooms))
    }

    /// - Parameters:
    ///   - words: what the newest pushes say, by id
    ///   - isLive: a live part does not change with the clock, but for the minutes of the lines
    func values(_ words: [String: String], isLive: Bool) -> Values {
        sealed([
            "rooms": newest.map { push in
                var room = PushValues(ledger: push, now: isLive ? nil : now, said: words[push.pushID]).row
                room["line"] = line(push.name)
                return room
            },
            "hasRooms": newest.isEmpty ? nil : true,
            "lineBegins": begin > 0 ? "\(Self.minutes - begin) min" : nil,
        ])
    }

    /// The minute of a time, 0 to 59: the last one is now. Nil: it is over an hour ago.
    private func place(_ time: String) -> Int? {
        guard let time = TimeText.parse(time) else { return nil }
        let ago = Int(max(0, now / Self.minute - time / Self.minute))
        return ago < Self.minutes ? Self.minutes - 1 - ago : nil
    }

    /// The first minute of which all pushes were read.
    private var begin: Int {
        history.next == nil ? 0 : history.pushes.last.flatMap { place($0.createdAt) } ?? 0
    }

    /// A bar for each minute with pushes, as high as the deliveries of these.
    private func line(_ name: String) -> Values {
        var counts: [Int: Int] = [:]
        let own = history.pushes.filter { $0.name == name && $0.test != true }
        for push in own { if let place = place(push.createdAt) { counts[place, default: 0] += push.delivered } }
        let most = Double(max(1, counts.values.max() ?? 1))
        let pushes = own.count { place($0.createdAt) != nil }
        return [
            "begin": "\(begin)", "known": "\(Self.minutes - begin)",
            "spoken": "\(Shown.count(pushes, "push", "pushes")) in the last hour",
            "bars": counts.sorted { $0.key < $1.key }.map { place, count in
                // A minute with a push that reached nobody is seen too.
                let size = max(2, (Self.height * Double(count) / most).rounded())
                return ["x": "\(place)", "y": "\(Int(Self.height - size))", "height": "\(Int(size))"] as Values
            },
        ]
    }
}
