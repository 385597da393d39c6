import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// The index of pushes gives the same answers whether its entries are packed or not.
@Suite struct PackedIndexTests {
    static let hour: Int64 = 3_600_000
    /// The beginning of an hour of today.
    static let start = wallClock() / hour * hour - 5 * hour

    /// An index beside what it has to answer.
    final class Model {
        let fixture: PushFixture
        var index: PushIndex { fixture.store.pushes.index }
        var redis: RedisClient { fixture.store.redis }
        var places: [PushIndex.IndexSlice] {
            (0...2).flatMap { hour in
                (0..<fixture.store.keys.partitions).map { slice in
                    PushIndex.IndexSlice(
                        app: fixture.app, hour: PackedIndexTests.start / PackedIndexTests.hour + hour, slice: slice)
                }
            }
        }
        var names: [PushID: ActivityName] = [:]
        /// Oldest first.
        var ids: [PushID] { names.keys.sorted { $0.uuid.bytes.lexicographicallyPrecedes($1.uuid.bytes) } }

        init() async throws { fixture = try await PushFixture.start() }

        /// Notes pushes of three hours, some of them at one time.
        func note(_ count: Int, times: Range<Int64> = 0..<3 * PackedIndexTests.hour) async throws {
            var commands: [RedisCommand] = []
            for number in 0..<count {
                let time = PackedIndexTests.start + Int64.random(in: times) / 50 * 50
                let id = PushID.ordered(at: time, index: number % 3)
                let name = try ActivityName("order-\(number) é")
                names[id] = name
                commands += index.note(fixture.app, id, name, now: time)
            }
            try await redis.run(commands)
        }

        func pack(before time: Int64? = nil) async throws {
            for place in places { try await redis.run(index.pack(place, before: time)) }
        }

        func packed() async throws -> Int {
            try await redis.run(places.map { RedisCommand("GET", index.packed($0)) })
                .map { try $0.optionalString().flatMap(Int.init) ?? 0 }.reduce(0, +)
        }

        func newestFirst(_ limit: Int) async throws -> [PushID] {
            var found: [PushID] = []
            for hour in Set(places.map(\.hour)).sorted(by: >) {
                var before: PushID?
                repeat {
                    let part = try await index.pushes(fixture.app, hours: [hour], before: before, limit: limit)[0]
                    found += part.pushes.map(\.id)
                    before = part.next
                } while before != nil
            }
            return found
        }

        func oldestFirst(_ limit: Int) async throws -> [PushID] {
            var found: [PushID] = []
            for place in places {
                var last: [UInt8]?
                repeat {
                    let part = try await index.members(
                        fixture.app, hour: place.hour, slice: place.slice, after: last, limit: limit)
                    #expect(part.members.count <= limit)
                    found += part.members.compactMap { PushIndex.push($0)?.id }
                    last = part.next
                } while last != nil
            }
            return found
        }

        /// Asks everything.
        func check(_ what: String) async throws {
            let ids = ids
            let strangers = ids.prefix(200).map { PushID(UUIDBytes(high: $0.uuid.high, low: $0.uuid.low ^ 1 << 40)) }
            let found = try await index.names(of: ids + strangers, fixture.app)
            #expect(found == ids.map { names[$0] } + strangers.map { _ in nil }, "\(what): names")
            for limit in [1, 7, 64, 65, 1_000] {
                #expect(try await newestFirst(limit) == ids.reversed(), "\(what): newest first, by \(limit)")
                let oldest = try await oldestFirst(limit)
                #expect(Set(oldest) == Set(ids) && oldest.count == ids.count, "\(what): oldest first, by \(limit)")
                if !redis.isCluster { #expect(oldest == ids, "\(what): oldest first, by \(limit)") }
            }
            let sizes = try await index.sizes(
                fixture.app, since: PackedIndexTests.start, now: PackedIndexTests.start + 3 * PackedIndexTests.hour)
            #expect(sizes.map(\.size).reduce(0, +) == ids.count, "\(what): sizes")
        }

        func drop(_ gone: [PushID]) async throws {
            let pushes = gone.compactMap { id in names[id].map { (id: id, name: $0, acceptedAt: id.uuid.time) } }
            try await redis.run(index.drops(fixture.app, pushes))
            for id in gone { names[id] = nil }
        }
    }

    @Test func `the answers are the same, also with pushes that come later than others that are packed`() async throws {
        let model = try await Model()
        try await model.note(1_000)
        try await model.check("entries")
        try await model.pack(before: Self.start + 2 * Self.hour + 1_800_000)
        let first = try await model.packed()
        // A set of up to 128 entries is compact by itself, and a cluster has one for each partition.
        #expect((500...850).contains(first) || model.redis.isCluster)
        try await model.check("packed")
        try await model.note(300)
        try await model.check("later ones between them")
        try await model.pack()
        #expect(try await model.packed() > first || model.redis.isCluster)
        try await model.check("packed again")
        try await model.pack()
        try await model.check("and once more")
    }

    @Test func `pushes that are gone leave their blocks, one by one and all together`() async throws {
        let model = try await Model()
        try await model.note(1_200)
        try await model.pack()
        try await model.note(100)
        while model.names.count > 100 {
            try await model.drop(Array(model.ids.shuffled().prefix(400)))
            try await model.check("\(model.names.count) left")
        }
        try await model.drop(model.ids)
        try await model.check("none")
        let left = try await model.redis.run(model.places.map { RedisCommand("EXISTS", model.index.blocks($0)) })
        #expect(try left.allSatisfy { try $0.integer() == 0 })
        try await model.note(500)
        try await model.pack()
        try await model.check("others")
    }

    @Test func `who reads while entries are packed misses none and finds none twice`() async throws {
        let model = try await Model()
        try await model.note(3_000, times: 0..<Self.hour)
        let ids = model.ids
        let (index, app, place) = (model.index, model.fixture.app, model.places[0])
        let partitions = model.fixture.store.keys.partitions
        let packing = Task {
            for time in stride(from: 0, through: Self.hour, by: 40_000) {
                for slice in 0..<partitions {
                    let place = PushIndex.IndexSlice(app: app, hour: place.hour, slice: slice)
                    try await index.redis.run(index.pack(place, before: Self.start + time))
                }
            }
        }
        for _ in 0..<12 {
            #expect(try await index.names(of: ids, app).allSatisfy { $0 != nil })
            let part = try await index.pushes(app, hours: [place.hour], before: nil, limit: 5_000)[0]
            #expect(part.pushes.map(\.id) == ids.reversed())
        }
        try await packing.value
        #expect(try await model.packed() > 2_000)
    }

    @Test func `blocks live as long as their entries would, and no set is emptied`() async throws {
        let model = try await Model()
        for place in model.places {
            let time = place.hour * Self.hour
            var slice = 0
            while slice < 128 {
                let id = PushID.ordered(at: time, index: slice)
                guard model.index.place(place.app, id) == place else { continue }
                try await model.redis.run(model.index.note(place.app, id, ActivityName("a"), now: time))
                slice += 1
            }
            // Life that is shorter shows that blocks take it over.
            try await model.redis.run("PEXPIRE", model.index.entries(place), "90000")
            for before in [nil, time + Self.hour, nil] {
                try await model.redis.run(model.index.pack(place, before: before))
            }
            let keys = [model.index.entries(place), model.index.blocks(place), model.index.packed(place)]
            // Few entries are compact, so they were not packed.
            let lives = try await model.redis.run(keys.map { RedisCommand("PTTL", $0) }).map { try $0.integer() }
            #expect((1...90_000).contains(lives[0]) && lives[1...] == [-2, -2])
            var id: PushID
            repeat { id = .ordered(at: time + 1, index: 0) } while model.index.place(place.app, id) != place
            try await model.redis.run(model.index.note(place.app, id, ActivityName("a"), now: time))
            try await model.redis.run("PEXPIRE", model.index.entries(place), "90000")
            try await model.redis.run(model.index.pack(place, before: nil))
            let replies = try await model.redis.run(
                keys.map { RedisCommand("PTTL", $0) } + [RedisCommand("ZCARD", keys[0])])
            #expect(try replies.prefix(3).allSatisfy { (1...90_000).contains(try $0.integer()) })
            #expect(try replies[3].integer() == 1)
        }
    }

    @Test func `what is left of an hour is compact again`() async throws {
        let model = try await Model()
        if model.redis.isCluster { return }
        try await model.note(900, times: 0..<Self.hour)
        let set = model.index.entries(model.places[0])
        func encoding() async throws -> String {
            try await model.redis.send(RedisCommand("OBJECT", ["ENCODING", .key(set)])).string()
        }
        #expect(try await encoding() == "skiplist")
        try await model.pack()
        #expect(["listpack", "ziplist"].contains(try await encoding()))
        try await model.check("packed")
    }

    @Test func `a Redis that is full packs nothing and loses nothing`() async throws {
        let model = try await Model()
        try await model.note(1_000)
        try await model.redis.everywhere("CONFIG", "SET", "maxmemory", "1")
        for place in model.places {
            let reply = try await model.redis.replies([model.index.pack(place, before: nil)])[0]
            #expect(reply.error != nil || model.redis.isCluster)
        }
        try await model.redis.everywhere("CONFIG", "SET", "maxmemory", "0")
        try await model.check("full")
    }

    @Test func `publishes pack what is some seconds old`() async throws {
        let model = try await Model()
        for number in 0..<700 {
            let time = Self.start + Int64(number) * 20
            let id = PushID.ordered(at: time, index: 0)
            model.names[id] = try ActivityName("order-\(number)")
            let acceptance = try await model.fixture.publish("order-\(number)", id: id, now: time)
            guard case .accepted = acceptance else { throw Unexpected(what: "\(acceptance)") }
        }
        // The last 500 are younger than ten seconds.
        let packed = try await model.packed()
        #expect(model.redis.isCluster ? packed <= 200 : packed == 128)
        try await model.check("this hour")
        // The next hour packs what is left.
        for number in 0..<32 * model.fixture.store.keys.partitions * 2 {
            let id = PushID.ordered(at: Self.start + Self.hour, index: number)
            model.names[id] = try ActivityName("order-\(number)")
            _ = try await model.fixture.publish("order-\(number)", id: id, now: Self.start + Self.hour)
        }
        let all = try await model.packed()
        #expect(all > 600 || model.redis.isCluster)
        try await model.check("the next hour")
    }

    @Test func `pages of the history go on where they were when the hour is packed`() async throws {
        let model = try await Model()
        let (pushes, app) = (model.fixture.store.pushes, model.fixture.app)
        for number in 0..<300 {
            let time = Self.start + Int64(number) * 1_000
            let id = PushID.ordered(at: time, index: 0)
            model.names[id] = try ActivityName("order-\(number)")
            _ = try await model.fixture.publish("order-\(number)", id: id, now: time)
        }
        let before = try await pushes.history(app, PushFilter(), after: nil, limit: 70)
        try await model.pack()
        #expect(try await model.packed() >= 128 || model.redis.isCluster)
        var (found, position) = (before.pushes.map(\.id), before.next)
        while let last = position {
            let page = try await pushes.history(app, PushFilter(), after: last, limit: 70)
            found += page.pushes.map(\.id)
            position = page.next
        }
        #expect(found == model.ids.reversed())
    }

    @Test func `an hour whose first push was refused expires all the same`() async throws {
        let fixture = try await PushFixture.start()
        let (index, redis) = (fixture.store.pushes.index, fixture.store.redis)
        _ = try await fixture.publish("a", event: .end, id: .ordered(at: Self.start - 1, index: 0), now: Self.start - 1)
        // In a cluster the same slice.
        let refused = PushID.ordered(at: Self.start, index: 0)
        let accepted = PushID(UUIDBytes(high: refused.uuid.high, low: refused.uuid.low ^ 1 << 20))
        #expect(try await fixture.publish("a", id: refused, now: Self.start) == .refused(.nameClosed))
        #expect(try await redis.run("EXISTS", index.key(fixture.app, refused)).integer() == 0)
        guard case .accepted = try await fixture.publish("b", id: accepted, now: Self.start) else {
            throw Unexpected(what: "refused")
        }
        let life = try await redis.run("PTTL", index.key(fixture.app, accepted)).integer()
        #expect((1...Int(index.life)).contains(life))
    }
}
