import Testing

@testable import APNsSimulator

/// Tests the simulator's memory of tokens.
@Suite struct TokenTableTests {
    private static func token(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    @Test func `every token is there once and its record changes in place`() {
        var table = TokenTable<Recorder.TokenRecord>()
        for number in 0..<3_000 { table[Self.token(number % 1_000), default: .init()].requests += 1 }
        #expect(table.count == 1_000)
        #expect(Set(table.tables.joined().map(\.key)) == Set((0..<1_000).map(Self.token)))
        #expect(table.tables.joined().allSatisfy { $0.value.requests == 3 })
        #expect(table[Self.token(1_000)] == nil && table[Self.token(1)]?.requests == 3)
    }

    /// The thread never has to move more than a small part of the table at once.
    @Test func `no part of it grows large`() {
        var table = TokenTable<Recorder.TokenRecord>()
        for number in 0..<100_000 { table[Self.token(number), default: .init()].requests += 1 }
        #expect(table.tables.allSatisfy { $0.count < 200 })
    }
}
