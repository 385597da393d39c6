import Foundation
import LiveActivity
import Redis
import Store
import Synchronization
import TestSupport
import Testing

@testable import HistoryExport

/// The export over a real Redis: each finished push is in the files once.
@Suite struct ExporterTests {
    private static let hour = ExportFixture.hour

    private func texts(_ ids: [PushID]) -> [String] { ids.map(\.description).sorted() }

    @Test func `a file has a line for each finished push, in the folder of its hour`() async throws {
        let fixture = try await ExportFixture()
        let ids = [
            PushID(try #require(UUIDBytes("019aa7c0-0000-7c58-b78d-181d5e242078"))), .ordered(at: 0, index: 0),
        ]
        let age = Double(ExportFixture.start - ids[0].uuid.time) / Double(Self.hour)
        let audience = Audience.and([.tag("gold", group: "membership"), .not(.namedUser("user-7"))])
        _ = try await fixture.push(
            age, id: ids[0], audience: audience, payload: #"{"aps":{"timestamp":0000000000,"event":"up"# + "date\"\n}}")
        fixture.now = ids[0].uuid.time + 4 * Self.hour
        let plain = try await fixture.export()
        #expect((plain.pushes, plain.files, plain.waiting, plain.gone) == (1, 1, 0, 0))
        let day = TimeText.plainText(ids[0].uuid.time)
        let file = "app=shop/date=\(day.prefix(10))/hour=\(day.dropFirst(11).prefix(2))/part-00000001.ndjson.gz"
        let times = (TimeText.text(ids[0].uuid.time), TimeText.text(ids[0].uuid.time + 1_500))
        let line =
            #"{"push_id":"019aa7c0-0000-7c58-b78d-181d5e242078","name":"match-1","event":"update","priority":10,"#
            + #""state":"cancelled","expanded":true,"targets":0,"delivered":0,"pruned":0,"failed":0,"superseded":0,"#
            + #""expired":0,"skipped":0,"pending":0,"retries":0,"duplicates_possible":0,"demoted":0,"late":0,"#
            + #""created_at":"\#(times.0)","finished_at":"\#(times.1)","errors":{},"#
            + #""by":{"credential":"master","address":"192.0.2.7"},"#
            + #""audience":{"and":[{"tag":"gold","group":"membership"},{"not":{"named_user":"user-7"}}]}}"#
        let files = try fixture.files()
        #expect(files.keys.sorted() == [file])
        #expect(files[file] == [line])

        // With the content: a new directory, because what is there stays as it is.
        try FileManager.default.removeItem(atPath: fixture.path)
        try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: true)
        _ = try await fixture.export(content: true)
        let lines = try fixture.files()[file] ?? []
        #expect(lines.count == 1)
        let payload = try #require(lines.first?.components(separatedBy: #","payload":"#).last)
        #expect(payload.wholeMatch(of: /\{"aps":\{"timestamp":\d{10},"event":"update" \}\}\}/) != nil, "\(payload)")
    }

    @Test func `each push is exported once, in any number of rounds and of files`() async throws {
        let fixture = try await ExportFixture()
        var ids: [PushID] = []
        for age in [3.0, 3.2, 3.4, 3.6, 5, 30, 30.5, 30.6, 150] {
            ids.append(try await fixture.push(age, "match-\(ids.count)"))
        }
        let young = try await fixture.push(0.5)
        let other = try await fixture.push(4, app: try AppKey("other"))
        let first = try await fixture.export(most: 2)
        #expect((first.pushes, first.waiting) == (ids.count, 0))
        #expect(try fixture.exported() == texts(ids))
        #expect(try await fixture.export().pushes == 0)
        fixture.now += 3 * Self.hour
        #expect(try await fixture.export(most: 1).pushes == 1)
        #expect(try fixture.exported() == texts(ids + [young]))
        #expect(try fixture.files().keys.allSatisfy { $0.hasPrefix("app=shop/date=2026-11-") })
        #expect(try !fixture.exported().contains(other.description))
        #expect(try fixture.parts() == [])
    }

    @Test func `a push that ends late comes in when it has ended, into the folder of its hour`() async throws {
        let fixture = try await ExportFixture()
        let done = try await fixture.push(5)
        let late = try await fixture.push(5.2, "match-2", isOpen: true)
        _ = try await fixture.push(5.3, "match-3", isOpen: true)
        #expect(try await fixture.export().waiting == 2)
        #expect(try fixture.exported() == texts([done]))
        #expect(try await fixture.export().pushes == 0)
        _ = try await fixture.store.pushes.cancel(fixture.app, late)
        let report = try await fixture.export()
        #expect((report.pushes, report.files, report.waiting) == (1, 1, 1))
        #expect(try fixture.exported() == texts([done, late]))
        #expect(Set(try fixture.files().keys.map { $0.dropLast("00000001.ndjson.gz".utf8.count) }).count <= 2)
        // Its record goes while it waits.
        let keys = fixture.store.pushes.keys
        let key = keys.name(keys.tag(fixture.app, try ActivityName("match-3")))
        try await fixture.store.redis.send(RedisCommand("DEL", key))
        let end = try await fixture.export()
        #expect(end.lost == "shop: 1 pushes were gone from Redis before they were final or exported")
        #expect(end.waiting == 0)
    }

    @Test func `a schedule is exported with the hour in which it went out`() async throws {
        let fixture = try await ExportFixture()
        let scheduled = try await fixture.push(
            4, id: .ordered(at: ExportFixture.start - 60 * Self.hour, index: 0))
        #expect(try await fixture.export().pushes == 1)
        #expect(try fixture.exported() == texts([scheduled]))
        #expect(try fixture.files().keys.first?.contains("date=2026-11-21/hour=14/") == true)
    }

    @Test func `a push whose gateway had not seen a step of the clock is exported with the hour of its id`()
        async throws
    {
        let fixture = try await ExportFixture()
        let push = try await fixture.push(4, id: .ordered(at: ExportFixture.start - 6 * Self.hour, index: 0))
        // The gateway put it into one hour of the index alone.
        let (keys, hour) = (fixture.store.pushes.keys, ExportFixture.start / Self.hour - 4)
        let set = keys.pushIndex(fixture.app, hour: hour, slice: 0)
        try await fixture.store.redis.send(RedisCommand("DEL", set))
        #expect(try await fixture.export().pushes == 1)
        #expect(try fixture.exported() == texts([push]))
        #expect(try fixture.files().keys.first?.contains("date=2026-11-21/hour=12/") == true)
    }

    private struct Death: Error {}

    @Test func `an export that dies at any step loses no push and writes none twice`() async throws {
        for step in ExportDirectory.Step.allCases {
            let fixture = try await ExportFixture()
            var ids: [PushID] = []
            for age in [3.0, 3.2, 3.4, 5, 30, 30.5, 150] {
                ids.append(try await fixture.push(age, "match-\(ids.count)"))
            }
            let late = try await fixture.push(7, "late", isOpen: true)
            // Each run dies at its second commit, so that each one gets further.
            for _ in 0..<40 {
                let commits = Mutex(0)
                _ = try? await fixture.export(most: 2) { reached in
                    guard reached == step else { return }
                    let isSecond = commits.withLock { count in
                        count += 1
                        return count == 2
                    }
                    if isSecond { throw Death() }
                }
                let exported = try fixture.exported()
                #expect(Set(exported).count == exported.count, "\(step)")
            }
            _ = try await fixture.store.pushes.cancel(fixture.app, late)
            _ = try await fixture.export()
            #expect(try fixture.exported() == texts(ids + [late]), "\(step)")
            #expect(try fixture.parts() == [], "\(step)")
        }
    }

    @Test func `after Redis's clock was set back, pushes of hours that were walked are exported, none twice`()
        async throws
    {
        let fixture = try await ExportFixture()
        let before = [try await fixture.push(3), try await fixture.push(3.5, "match-2", isOpen: true)]
        #expect(try await fixture.export().pushes == 1)
        // The clock was eight hours ahead.
        fixture.now -= 8 * Self.hour
        #expect(try await fixture.export().pushes == 0)
        let after = [try await fixture.push(3.1, "match-3"), try await fixture.push(6, "match-4")]
        fixture.now += 8 * Self.hour
        _ = try await fixture.store.pushes.cancel(fixture.app, before[1])
        #expect(try await fixture.export(most: 1).pushes == 3)
        #expect(try fixture.exported() == texts(before + after))
        #expect(try await fixture.export().pushes == 0)
    }

    @Test func `an outage of days is caught up, and expired hours are told`() async throws {
        let fixture = try await ExportFixture()
        let first = try await fixture.push(4)
        _ = try await fixture.export()
        fixture.now += 100 * Self.hour
        let later = try await fixture.push(-50)
        let caughtUp = try await fixture.export()
        #expect((caughtUp.pushes, caughtUp.lost) == (1, nil))
        fixture.now += 300 * Self.hour
        let gap = try await fixture.export()
        #expect(
            gap.lost == "shop: the pushes from 2026-11-25T20:00:00.000Z to 2026-12-01T10:00:00.000Z had expired "
                + "before they were exported")
        #expect(try await fixture.export().lost == nil)
        #expect(try fixture.exported() == texts([first, later]))
    }

    @Test func `two exports to a directory: the second is refused, and Redis is only read`() async throws {
        let fixture = try await ExportFixture()
        _ = try await fixture.push(4)
        let held = try ExportDirectory(fixture.path, apps: [fixture.app])
        let error = await #expect(throws: ExportError.self) { try await fixture.export() }
        #expect(error == .busy(fixture.path))
        withExtendedLifetime(held) {}
    }

    @Test func `the directory of another deployment is refused`() async throws {
        let (one, two) = (try await ExportFixture(), try await ExportFixture())
        _ = try await one.push(4)
        _ = try await two.push(4)
        _ = try await one.export()
        let exporter = Exporter(two.store, withContent: false)
        let directory = try ExportDirectory(one.path, apps: [two.app])
        let error = await #expect(throws: ExportError.self) { try await exporter.run(two.app, in: directory) }
        #expect(error == .otherDeployment(one.path))
        #expect(try one.exported().count == 1)
    }

    @Test func `a directory that is not there, and a state that cannot be read, end the export`() async throws {
        let fixture = try await ExportFixture()
        let missing = fixture.path + "/none"
        let error = #expect(throws: ExportError.self) { try ExportDirectory(missing, apps: []) }
        #expect("\(error.map { "\($0)" } ?? "")".hasPrefix("cannot export to \(missing): No such file or directory"))
        _ = try await fixture.push(4)
        _ = try await fixture.export()
        let state = fixture.path + "/_lamplighter/shop.json"
        try "{".write(toFile: state, atomically: false, encoding: .utf8)
        let broken = await #expect(throws: ExportError.self) { try await fixture.export() }
        guard case .unreadable(state, _) = broken else {
            throw NeverHappened(description: "\(String(describing: broken))")
        }
    }
}
