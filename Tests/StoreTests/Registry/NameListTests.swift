import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store

/// Lists of names with what is known about each.
@Suite struct NameListTests {
    @Test func `followers are exact for a small name, and about right for a large one`() async throws {
        let fixture = try await PushFixture.start()
        for (name, count) in [("large", 5_000), ("middle", 300), ("small", 3)] {
            try await fixture.track(name, count: count)
        }
        let listed = try await fixture.store.names.list(fixture.app, NameFilter(), after: nil, limit: 10).names
        #expect(listed.map(\.name.rawValue) == ["large", "middle", "small"])
        #expect((4_000...6_500).contains(listed[0].followers), "\(listed[0].followers)")
        #expect((200...420).contains(listed[1].followers), "\(listed[1].followers)")
        #expect(listed[2].followers == 3)
    }

    @Test func `pages go through all names that match, and none twice`() async throws {
        let fixture = try await PushFixture.start()
        for number in 0..<30 { try await fixture.track("match-\(number)\(number % 3 == 0 ? "-x" : "")", count: 1) }
        var filter = NameFilter()
        filter.part = "-x"
        for limit in [1, 3, 10, 100] {
            var (found, after) = ([String](), String?.none)
            repeat {
                let page = try await fixture.store.names.list(fixture.app, filter, after: after, limit: limit)
                #expect(page.names.count <= limit)
                found += page.names.map(\.name.rawValue)
                after = page.next
            } while after != nil
            #expect(found.count == 10 && Set(found).count == 10, "limit \(limit): \(found)")
        }
    }

    @Test func `a part of a name is compared as bytes`() async throws {
        let fixture = try await PushFixture.start()
        try await fixture.track("caf\u{E9}", count: 1)
        var filter = NameFilter()
        filter.part = "e\u{301}"
        #expect(try await fixture.store.names.list(fixture.app, filter, after: nil, limit: 9).names.isEmpty)
        filter.part = "\u{E9}"
        #expect(try await fixture.store.names.list(fixture.app, filter, after: nil, limit: 9).names.count == 1)
    }
}
