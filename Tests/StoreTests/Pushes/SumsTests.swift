import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Sums over the history, and the last content state of a name.
@Suite struct SumsTests {
    private let hour: Int64 = 3_600_000

    /// Yesterday's noon: an hour before it is on the same day.
    private func noon(_ fixture: PushFixture) -> Int64 {
        fixture.store.time.now() / (24 * hour) * (24 * hour) - 12 * hour
    }

    /// Pushes of three days to two names, the last ones at noon. One is a schedule whose id is a day old.
    private func history(_ fixture: PushFixture) async throws -> [PushID] {
        let noon = noon(fixture)
        var ids: [PushID] = []
        for (name, age, idAge) in [("b", 49, 49), ("a", 24, 24), ("a", 1, 25), ("b", 0, 0), ("a", 0, 0)] {
            let id = PushID.ordered(at: noon - Int64(idAge) * hour, index: ids.count)
            ids.append(id)
            let acceptance = try await fixture.publish(
                name, alert: true, id: id, now: noon - Int64(age) * hour + Int64(ids.count))
            guard case .accepted = acceptance else { throw Unexpected(what: "\(acceptance)") }
            let record = fixture.store.keys.push(fixture.store.keys.tag(fixture.app, try ActivityName(name)), id)
            try await fixture.store.redis.send(
                RedisCommand("HSET", record, "targets", "10", "delivered", .int(ids.count), "expired", "1"))
        }
        return ids
    }

    @Test func `pushes are added up by day and by name, and each push counts once`() async throws {
        let fixture = try await PushFixture.start()
        _ = try await history(fixture)
        let today = TimeText.plainText(noon(fixture)).prefix(10)
        let (days, next) = try await fixture.store.pushes.sums(fixture.app, by: .day, PushFilter(), after: nil)
        #expect(next == nil && days.rows.count == 3 && days.rows[0].key == today)
        let first = days.rows[0].sum
        #expect(first.pushes == 3 && first.outcomes == Outcomes(targets: 30, [.delivered: 12, .expired: 3]))
        #expect(first.outcomes.pending == 15)
        #expect(days.rows.map(\.sum.pushes) == [3, 1, 1] && days.rows[0].key > days.rows[1].key)
        let names = try await fixture.store.pushes.sums(fixture.app, by: .name, PushFilter(), after: nil).sums
        #expect(names.rows.map(\.key) == ["a", "b"] && names.rows.map(\.sum.pushes) == [3, 2])
        #expect(names.rows.map { $0.sum.outcomes.delivered } == [2 + 3 + 5, 1 + 4])
        #expect(
            try await fixture.store.pushes.sums(AppKey("other"), by: .day, PushFilter(), after: nil).sums.rows.isEmpty)
    }

    @Test(arguments: [1, 2, 3, 100])
    func `a call reads a bounded part, and the parts add up`(most: Int) async throws {
        let fixture = try await PushFixture.start()
        _ = try await history(fixture)
        var total = PushSum()
        var calls = 0
        var position: HistoryPosition?
        repeat {
            let (sums, next) = try await fixture.store.pushes.sums(
                fixture.app, by: .day, PushFilter(), after: position, most: most)
            #expect(sums.rows.map(\.sum.pushes).reduce(0, +) <= most)
            for row in sums.rows { total += row.sum }
            (position, calls) = (next, calls + 1)
        } while position != nil
        #expect(total.pushes == 5 && total.outcomes.delivered == 15, "\(total)")
        // The schedule is in two hours, and is read in both.
        #expect(most == 100 ? calls == 1 : calls >= 6 / most)

        var (ofName, last) = (PushSum(), PushID?.none)
        repeat {
            let (sums, next) = try await fixture.store.pushes.sums(
                fixture.app, of: ActivityName("a"), by: .name, PushFilter(), after: last, most: most)
            for row in sums.rows { ofName += row.sum }
            last = next
        } while last != nil
        #expect(ofName.pushes == 3 && ofName.outcomes.delivered == 10)
    }

    @Test func `a filter picks what is added up`() async throws {
        let fixture = try await PushFixture.start()
        let ids = try await history(fixture)
        let noon = noon(fixture)
        _ = try await fixture.store.pushes.cancel(fixture.app, ids[3])
        func sum(_ name: ActivityName?, _ change: (inout PushFilter) -> Void) async throws -> Int {
            var filter = PushFilter()
            change(&filter)
            let pushes = fixture.store.pushes
            let sums =
                if let name {
                    try await pushes.sums(fixture.app, of: name, by: .day, filter, after: nil).sums
                } else {
                    try await pushes.sums(fixture.app, by: .day, filter, after: nil).sums
                }
            return sums.rows.map(\.sum.pushes).reduce(0, +)
        }
        #expect(try await sum(nil) { $0.states = [.cancelled] } == 1)
        #expect(try await sum(nil) { $0.from = noon - 2 * hour } == 3)
        #expect(try await sum(nil) { $0.to = noon - 2 * hour } == 2)
        #expect(try await sum(nil) { $0.events = [.end] } == 0)
        let name = try ActivityName("a")
        #expect(try await sum(name) { $0.from = noon - 2 * hour } == 2)
        #expect(try await sum(name) { $0.states = [.cancelled] } == 0)
    }

    @Test func `the last content state is that of the newest push that may show one`() async throws {
        let fixture = try await PushFixture.start()
        let (pushes, app, name) = (fixture.store.pushes, fixture.app, try ActivityName("match-1"))
        #expect(try await pushes.present(app, name).state == nil)
        let alert = try await fixture.push(alert: true)
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
        let vip = Audience.tag("vip", group: "device")
        let newest = try await fixture.push(audience: vip, alert: true)
        let state = try #require(try await pushes.present(app, name).state)
        #expect(state.ledger.id == newest && state.audience == vip && !state.payload.isEmpty)
        // It reached no device, so the one before it counts.
        _ = try await pushes.cancel(app, newest)
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
        // Many ends without a state are passed over.
        for _ in 0..<12 { _ = try await fixture.push(.end, state: false, audience: vip) }
        #expect(try await pushes.present(app, name).state?.ledger.id == alert)
    }
}
