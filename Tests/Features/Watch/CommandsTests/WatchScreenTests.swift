import LiveActivity
import Testing

@testable import Commands
@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

@Suite("The page of watch")
struct WatchScreenTests {
    private static let now: Int64 = 1_795_276_923_007

    private static let redis = "Redis 7.0.15 at redis://127.0.0.1:6379/0"

    private static func snapshot(
        name: String = "match-42-final-in-the-stadium-of-the-capital"
    ) throws -> Snapshot {
        let shop = try AppKey("shop")
        var depth = QueueDepth(app: shop)
        (depth.pushesHigh, depth.pushesLow, depth.shardTasks, depth.retriesDue) = (12, 0, 61, 1_204)
        var age = QueueAge(app: shop)
        (age.pushesHigh, age.shardTasks, age.retriesDue) = (3_200, 41_000, 0)
        (age.waitingSchedules, age.schedules) = (7, 0)
        var load = Heartbeat.Load()
        (load.lanes, load.connected, load.inFlight, load.pages, load.rate) = (4, 4, 3_980, 8, 118_400)
        load.outcomes = ["delivered": 5_120_339, "pruned": 20_412, "failed": 3]
        load.errors = ["Unregistered": 20_412, "TooManyRequests": 880]
        var memory = RedisLoad()
        (memory.usedMemory, memory.memoryLimit) = (1_200 << 20, 4_096 << 20)
        let push = PushUnderWay(
            app: shop, name: try ActivityName(name),
            id: try #require(PushID("2f1b7c1e-66f0-4d0c-9d3c-5c2c0e3d7a55")), event: .update, priority: .high,
            createdAt: now - 44_000, targets: 5_140_754, settled: 5_139_871, share: 0.515)
        var snapshot = Snapshot(now: now, apps: [shop])
        snapshot.load = memory
        (snapshot.apps[0].depth, snapshot.apps[0].age, snapshot.apps[0].deadLetters) = (depth, age, 2)
        snapshot.alarms = [
            Alarm(app: shop, kind: .manyUnregistered, reason: "2100 of 4000 answers", since: now - 300_000)
        ]
        snapshot.heartbeats = [
            Heartbeat(worker: "worker-eu-1-9f3c2b1a", at: now - 900, startedAt: now - 7_300_000, loads: [shop: load]),
            Heartbeat(
                worker: "worker-eu-2-03c4d5e6", at: now - 61_000, startedAt: now - 90_000, loads: [shop: .init()]),
        ]
        snapshot.pushes = [push]
        return snapshot
    }

    private static func page(_ width: Int, _ height: Int? = nil) throws -> String {
        WatchScreen(snapshot: try snapshot(), redis: redis, width: width, height: height).lines.joined(separator: "\n")
    }

    @Test func `80 columns show what matters most`() throws {
        let page = try Self.page(80)
        #expect(page == Self.narrow, "\n\(page)\n")
    }

    @Test func `200 columns show everything`() throws {
        let page = try Self.page(200)
        #expect(page == Self.wide, "\n\(page)\n")
    }

    private static let narrow = """
        lamplighter  16:02:03 UTC  1,200 of 4,096 MB  Redis 7.0.15 at redis://127.0.0.1…
        1 worker, 4 lanes (4 connected)  118,400 tokens/s  3,980 in flight  8 pages

        ✗ app shop: many_unregistered: 2100 of 4000 answers, since 5 min
        ! 1 worker without a heartbeat: killed, stopped, or cut off
        ! app shop: 2 pushes with dead letters

        APP   TOKENS/S      HIGH  LOW     SHARDS  RETRIES  SCHEDULES
        shop   118,400  12 (3 s)    0  61 (41 s)    1,204          7

        WORKER                LANES  TOKENS/S  IN FLIGHT  PAGES  DELIVERED  FAILED  SEEN
        worker-eu-1-9f3c2b1a    4/4   118,400      3,980      8  5,120,339       3   0 s
        worker-eu-2-03c4d5e6    0/0         -          -      -          0       0  61 s

        ERRORS  Unregistered 20,412  TooManyRequests 880

        PUSH                             TARGETS    SETTLED   AGE
        match-42-final-in-the-stadiu…  5,140,754  5,139,871  44 s  ████████░░░░░░░░  51%
        """

    private static let wide = """
        lamplighter  16:02:03 UTC  1,200 of 4,096 MB  Redis 7.0.15 at redis://127.0.0.1:6379/0
        1 worker, 4 lanes (4 connected)  118,400 tokens/s  3,980 in flight  8 pages

        ✗ app shop: many_unregistered: 2100 of 4000 answers, since 5 min
        ! 1 worker without a heartbeat: killed, stopped, or cut off
        ! app shop: 2 pushes with dead letters

        APP   TOKENS/S      HIGH  LOW     SHARDS  RETRIES  SCHEDULES
        shop   118,400  12 (3 s)    0  61 (41 s)    1,204          7

        WORKER                LANES  TOKENS/S  IN FLIGHT  PAGES  DELIVERED  PRUNED  FAILED    UP  SEEN
        worker-eu-1-9f3c2b1a    4/4   118,400      3,980      8  5,120,339  20,412       3   2 h   0 s
        worker-eu-2-03c4d5e6    0/0         -          -      -          0       0       0  90 s  61 s

        ERRORS  Unregistered 20,412  TooManyRequests 880

        PUSH                                          ID                                    EVENT        TARGETS    SETTLED   AGE
        match-42-final-in-the-stadium-of-the-capital  2f1b7c1e-66f0-4d0c-9d3c-5c2c0e3d7a55  update 10  5,140,754  5,139,871  44 s  ████████████████████░░░░░░░░░░░░░░░░░░░░  51%
        """

    @Test(arguments: [20, 40, 79, 80, 81, 120, 200, 400])
    func `no line is wider than the terminal`(width: Int) throws {
        let lines = WatchScreen(snapshot: try Self.snapshot(), redis: Self.redis, width: width, height: nil).lines
        #expect(lines.allSatisfy { $0.count <= width })
    }

    @Test(arguments: [
        "決勝戦・国立競技場・延長後半アディショナルタイム", "🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆🏆",
        "half 決勝戦 🏆 half 決勝戦 🏆 half 決勝戦 🏆", "日本",
    ])
    func `a name of wide characters keeps the columns`(name: String) throws {
        for width in [80, 81, 120, 200] {
            let snapshot = try Self.snapshot(name: name)
            let lines = WatchScreen(snapshot: snapshot, redis: Self.redis, width: width, height: nil).lines
            #expect(lines.allSatisfy { $0.displayWidth <= width }, "\(lines)")
            // The title and the time end in the same column.
            let (titles, push) = (lines[lines.count - 2], lines[lines.count - 1])
            let title = try #require(titles.firstRange(of: "AGE"))
            let age = try #require(push.firstRange(of: "44 s"))
            let ends = [titles[..<title.upperBound], push[..<age.upperBound]].map { String($0).displayWidth }
            #expect(ends[0] == ends[1], "\(titles)\n\(push)")
        }
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("été", 3), ("e\u{301}te\u{301}", 3), ("決勝", 4), ("ｶﾅ", 2), ("ＡＢ", 4), ("한국", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("🏆", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("🇯🇵", 2), ("1\u{FE0F}\u{20E3}", 2),
        ("a\u{200B}b", 2), ("█░…✗", 4),
    ])
    func `text is measured in columns`(text: String, width: Int) { #expect(text.displayWidth == width) }

    @Test(arguments: [
        ("決勝戦", 6, "決勝戦"), ("決勝戦", 5, "決勝…"), ("決勝戦", 4, "決…"), ("決勝戦", 1, "…"), ("abc", 2, "a…"),
        ("e\u{301}te\u{301}", 2, "e\u{301}…"),
    ])
    func `text is cut at a column`(text: String, width: Int, cut: String) { #expect(text.cut(to: width) == cut) }

    @Test func `a table of wide characters keeps its columns`() {
        var table = Table([.text(), .number()])
        table.add("決勝", "1")
        table.add("final", "22")
        #expect(table.lines == ["決勝    1", "final  22"])
    }

    @Test func `a paused push does not wait for a worker`() throws {
        var snapshot = try Self.snapshot()
        snapshot.pushes[0].isWaiting = true
        func row() -> String {
            let lines = WatchScreen(snapshot: snapshot, redis: Self.redis, width: 120).lines
            return lines.last { $0.hasPrefix("match-42") } ?? ""
        }
        #expect(row().hasSuffix("waits for a worker"))
        for name in [snapshot.pushes[0].name, nil] {
            snapshot.pauses = [Pause(app: snapshot.pushes[0].app, name: name, since: Self.now - 9_000)]
            #expect(row().hasSuffix("paused"), "\(row())")
        }
        snapshot.pauses = [Pause(app: snapshot.pushes[0].app, name: try ActivityName("other"), since: Self.now)]
        #expect(row().hasSuffix("waits for a worker"))
    }

    @Test func `an alarm keeps its remedy in a narrow terminal`() throws {
        var snapshot = try Self.snapshot()
        snapshot.alarms[0].reason = "many devices are unregistered: look whether the app has another bundle id by now"
        let lines = WatchScreen(snapshot: snapshot, redis: Self.redis, width: 60, height: nil).lines
        let first = try #require(lines.firstIndex { $0.hasPrefix("✗ app shop") })
        let rest = lines[(first + 1)...].prefix { $0.hasPrefix("  ") }
        #expect(rest.last?.hasSuffix("by now, since 5 min") == true, "\(lines)")
    }

    @Test func `keys sort the page and explain it`() throws {
        var screen = WatchScreen(snapshot: try Self.snapshot(), redis: Self.redis, width: 80, height: 40)
        #expect(!screen.lines.contains { $0.contains("q quit") }, "nobody can press a key")
        screen.keys = WatchScreen.Keys()
        #expect(screen.lines.last == "q quit  s sort by rate  ? help")
        screen.keys?.order = .age
        let workers = screen.lines.filter { $0.hasPrefix("worker-eu") }
        #expect(workers.map { $0.hasPrefix("worker-eu-2") } == [true, false], "the longest silence first")
        screen.keys?.showsHelp = true
        #expect(screen.lines.contains { $0.contains("the oldest, so long") })
        screen.height = 8
        #expect(screen.lines.count == 8 && screen.lines[7].hasPrefix("q quit"))
    }

    @Test func `a bar for each of the last pages`() throws {
        var screen = WatchScreen(snapshot: try Self.snapshot(), redis: Self.redis, width: 80, height: nil)
        screen.rates = [0, 50, 100, 70]
        #expect(screen.lines[2] == "▁▄█▅  at most 100/s")
        screen.rates = [0, 0]
        #expect(!screen.lines[2].contains("at most"))
    }

    @Test func `a page that does not fit says so in its last line`() throws {
        let lines = WatchScreen(snapshot: try Self.snapshot(), redis: Self.redis, width: 80, height: 10).lines
        #expect(lines.count == 10 && lines[9].hasPrefix("… "))
    }

    @Test func `a full Redis is named, and not the workers that it makes silent`() throws {
        var snapshot = try Self.snapshot()
        snapshot.heartbeats = []
        snapshot.load.memoryLimit = 64 << 20
        func lines(used: Int) -> [String] {
            snapshot.load.usedMemory = used << 20
            return WatchScreen(snapshot: snapshot, redis: Self.redis, width: 120, height: nil).lines
        }
        #expect(lines(used: 61).contains("! Redis is nearly full: 95 % of its limit"))
        let full = lines(used: 64)
        #expect(full.contains { $0.hasPrefix("✗ Redis is full: nothing is accepted or sent") })
        #expect(!full.contains { $0.contains("start 'lamplighter work'") && $0.hasPrefix("✗") })
    }

    @Test func `without a heartbeat the page says what to start`() throws {
        var snapshot = try Self.snapshot()
        snapshot.heartbeats = []
        let lines = WatchScreen(snapshot: snapshot, redis: Self.redis, width: 80, height: nil).lines
        #expect(lines.contains("✗ no worker sends a heartbeat: start 'lamplighter work'"))
    }

    @Test func `a push that no worker has begun has no bar`() throws {
        var snapshot = try Self.snapshot()
        (snapshot.pushes[0].isWaiting, snapshot.pushes[0].targets, snapshot.pushes[0].settled) = (true, 0, 0)
        let last = try #require(WatchScreen(snapshot: snapshot, redis: Self.redis, width: 80, height: nil).lines.last)
        #expect(last.hasSuffix("0        0  44 s  waits for a worker"), "\(last)")
    }
}
