import Answers
import LiveActivity
import Testing

@testable import Console

/// The rooms that move, on Home.
@Suite struct BoardTests {
    private let now = TimeText.parse("2026-11-21T18:00:30.000Z") ?? 0

    private func push(_ name: String, _ time: String, delivered: Int = 1, test: Bool? = nil) -> LedgerAnswer {
        LedgerAnswer(
            pushID: "\(name) \(time)", name: name, event: "update", priority: 10, state: "done", expanded: true,
            outcomes: Outcomes(targets: delivered, [.delivered: delivered]), retries: 0, duplicatesPossible: 0,
            demoted: 0, late: 0, stale: nil, automatic: nil, test: test, broadcast: nil, supersededBy: nil,
            createdAt: "2026-11-\(time):00.000Z", finishedAt: nil, errors: [:], shown: nil, ended: nil, dismissed: nil,
            by: nil)
    }

    private func rooms(_ pushes: [LedgerAnswer], next: String? = nil) throws -> (rooms: [Values], begins: String?) {
        let board = Board(HistoryAnswer(total: nil, pushes: pushes, next: next), now: now)
        let values = board.values(["match-2 21T18:00": "2 : 0"], isLive: true)
        return (try #require(values["rooms"] as? [Values]), values["lineBegins"] as? String)
    }

    @Test func `a room is a name with a push of the last day that was no test, the newest first`() throws {
        let found = try rooms([
            push("match-2", "21T18:00"), push("match-1", "21T17:59"), push("match-2", "21T17:30"),
            push("tried", "21T17:20", test: true), push("match-3", "20T18:30"), push("old", "20T17:59"),
        ]).rooms
        #expect(found.map { $0["name"] as? String } == ["match-2", "match-1", "match-3"])
        #expect(
            found[0]["said"] as? String == "2 : 0" && found[0]["path"] as? String == "/console/pushes/match-2 21T18:00")
    }

    @Test func `the line of a room has a bar for each minute, and begins where the pushes that were read begin`() throws
    {
        let pushes = [
            push("a", "21T18:00", delivered: 10), push("a", "21T17:58", delivered: 2),
            push("a", "21T17:58", delivered: 3), push("a", "21T17:20", delivered: 0),
        ]
        func line(_ next: String?) throws -> Values {
            try #require(rooms(pushes, next: next).rooms[0]["line"] as? Values)
        }
        let bars = try #require(try line(nil)["bars"] as? [[String: String]])
        #expect(bars.map { $0["x"] } == ["19", "57", "59"] && bars.map { $0["height"] } == ["2", "10", "20"])
        #expect(
            try line(nil)["begin"] as? String == "0" && line(nil)["spoken"] as? String == "4 pushes in the last hour")
        #expect(try line("more")["begin"] as? String == "19" && rooms(pushes, next: "more").begins == "41 min")
    }
}
