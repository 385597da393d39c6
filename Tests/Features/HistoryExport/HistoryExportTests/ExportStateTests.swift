import LiveActivity
import Store
import StrictJSON
import Testing

@testable import HistoryExport

@Suite struct ExportStateTests {
    private static let hour: Int64 = 3_600_000
    /// 2026-11-21T18:00:00
    private static let now: Int64 = 1_795_284_000_000
    private static let week: Int64 = 168

    /// The hours that a round walks and misses, as distances from the hour of `now`.
    private func begin(
        _ state: inout ExportState, at now: Int64 = now
    ) -> (walkable: Range<Int64>, missed: Range<Int64>) {
        let (walkable, missed) = state.begin(now: now, keptSince: now - Self.week * Self.hour)
        let base = Self.now / Self.hour
        return (
            walkable.lowerBound - base..<walkable.upperBound - base, missed.lowerBound - base..<missed.upperBound - base
        )
    }

    @Test func `the first export begins with the oldest hour that is kept, and misses nothing`() {
        var state = ExportState(deployment: "d")
        let (walkable, missed) = begin(&state)
        #expect(walkable == -168 ..< -2)
        #expect(missed.isEmpty)
    }

    @Test func `an hour is walked once no push can join it: an hour and five minutes after its end`() {
        for (after, end) in [(0, -2), (299_999, -2), (300_000, -1), (3_600_000 + 299_999, -1), (3_900_000, 0)] {
            var state = ExportState(deployment: "d", next: Self.now / Self.hour - 9)
            #expect(begin(&state, at: Self.now + Int64(after)).walkable == -9..<Int64(end), "\(after) ms")
        }
    }

    @Test func `after an outage the export goes on where it was, and says what expired meanwhile`() {
        var state = ExportState(deployment: "d", next: Self.now / Self.hour - 100)
        #expect(begin(&state) == (-100 ..< -2, -168 ..< -168))
        state = ExportState(
            deployment: "d", next: Self.now / Self.hour - 200, position: IndexPosition(slice: 0, push: nil))
        #expect(begin(&state) == (-168 ..< -2, -200 ..< -168))
        #expect(state.position == nil)
        // It is said once.
        #expect(begin(&state).missed.isEmpty)
    }

    @Test func `after the clock was set back, hours that were walked come again`() {
        var state = ExportState(deployment: "d", next: Self.now / Self.hour + 10)
        #expect(begin(&state).walkable.isEmpty)
        #expect(state.next == Self.now / Self.hour - 2)
        #expect(state.again == Self.now / Self.hour + 10)
        // An hour that was walked in part counts.
        state = ExportState(
            deployment: "d", next: Self.now / Self.hour + 10, position: IndexPosition(slice: 0, push: .random()))
        _ = begin(&state)
        #expect(state.again == Self.now / Self.hour + 11)
        #expect(state.position == nil)
        // A second step before the clock got there keeps the later hour.
        _ = begin(&state, at: Self.now - 5 * Self.hour)
        #expect(state.again == Self.now / Self.hour + 11)
        #expect(state.next == Self.now / Self.hour - 7)
    }

    @Test func `folders are named as Hive names partitions`() throws {
        #expect(
            ExportState.folders(try AppKey("shop"), hour: Self.now / Self.hour)
                == ["app=shop", "date=2026-11-21", "hour=18"])
    }

    @Test func `a state is read as it was written`() throws {
        let first = PushID(try #require(UUIDBytes("019a1b6e-b16a-7c58-b78d-181d5e242078")))
        var state = ExportState(deployment: "0123456789abcdef0123456789abcdef")
        #expect(try ExportState(state.json.bytes) == state)
        (state.next, state.files, state.again) = (Self.now / Self.hour, 7, Self.now / Self.hour + 3)
        state.position = IndexPosition(slice: 3, push: first)
        state.waiting = [Self.now / Self.hour - 4: [first]]
        state.last = .init(part: "_lamplighter/shop-00000007.part", path: "app=shop/part-00000007.ndjson.gz")
        #expect(try ExportState(state.json.bytes) == state)
        #expect(
            state.json.text
                == #"{"lamplighter_export":1,"deployment":"0123456789abcdef0123456789abcdef","next":"2026-11-21T18:00:00","#
                + #""position":{"slice":3,"push_id":"019a1b6e-b16a-7c58-b78d-181d5e242078"},"again":"2026-11-21T21:00:00","#
                + #""files":7,"waiting":{"2026-11-21T14:00:00":["019a1b6e-b16a-7c58-b78d-181d5e242078"]},"#
                + #""last":{"part":"_lamplighter/shop-00000007.part","path":"app=shop/part-00000007.ndjson.gz"}}"#)
    }

    @Test(arguments: [
        "", "{}", #"{"lamplighter_export":2,"deployment":"d","files":0,"waiting":{}}"#,
        #"{"lamplighter_export":1,"deployment":"d","files":0,"waiting":{"noon":[]}}"#,
        #"{"lamplighter_export":1,"deployment":"d","files":0,"waiting":{"2026-11-21T14:00:00":["x"]}}"#,
        #"{"lamplighter_export":1,"deployment":"d","next":"soon","files":0,"waiting":{}}"#,
    ])
    func `other content is refused`(_ text: String) {
        #expect(throws: (any Error).self) { try ExportState(Array(text.utf8)) }
    }
}
