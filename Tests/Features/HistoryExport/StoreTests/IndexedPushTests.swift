import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// The index of pushes as the export reads it.
extension KeptPushTests {
    @Test func `an export finds kept pushes beside others`() async throws {
        let fixture = try await PushFixture.start()
        let (store, app) = (fixture.store, fixture.app)
        let now = fixture.store.time.now()
        var ids: [PushID] = []
        for index in 0..<5 {
            let id = PushID.ordered(at: now, index: index)
            ids.append(try await done(fixture, hasOwn: index == 2, id: id, now: now))
        }
        let state = try #require(try await store.pushes.present(app, name).state)
        let exported = try await store.pushes.indexed(app, ids)
        #expect(exported.compactMap(\.record?.ledger.id) == ids)
        #expect(exported.compactMap(\.record?.payload) == Array(repeating: state.payload, count: 5))
    }
}

extension PackedIndexTests {
    @Test func `an export goes on where it was when the hour is packed`() async throws {
        let model = try await Model()
        let (pushes, app) = (model.fixture.store.pushes, model.fixture.app)
        for number in 0..<300 {
            let time = Self.start + Int64(number) * 1_000
            let id = PushID.ordered(at: time, index: 0)
            model.names[id] = try ActivityName("order-\(number)")
            _ = try await model.fixture.publish("order-\(number)", id: id, now: time)
        }
        let first = try await pushes.indexed(app, hour: Self.start / Self.hour, after: nil, limit: 70)
        try await model.pack()
        #expect(try await model.packed() >= 128 || model.redis.isCluster)
        var (walked, place) = (first.pushes.map(\.id), first.next)
        while let last = place {
            let part = try await pushes.indexed(app, hour: Self.start / Self.hour, after: last, limit: 70)
            walked += part.pushes.map(\.id)
            place = part.next
        }
        #expect(Set(walked) == Set(model.ids) && walked.count == model.ids.count)
    }
}
