import LiveActivity
import Testing

@testable import HTTPAPI

/// Which entries of the intake wait, and for how long.
@Suite struct IntakeBacklogTests {
    private let start = ContinuousClock.now
    private let full: Set<ActivityName> = [try! ActivityName("full")]
    private let other: Set<ActivityName> = [try! ActivityName("other")]

    @Test func `a full name has a minute, and then each of its entries is refused at once`() {
        var backlog = IntakeBacklog()
        for second in 0..<60 {
            backlog.turn(start + .seconds(second))
            #expect(backlog.position == "0" && !backlog.blocks(full))
            let waits = backlog.refused(full, start + .seconds(second))
            #expect(waits, "second \(second)")
            backlog.wait("1", full)
            #expect(backlog.blocks(full) && !backlog.blocks(other))
        }
        backlog.turn(start + .seconds(60))
        let first = backlog.refused(full, start + .seconds(60))
        backlog.passed("1")
        let second = backlog.refused(full, start + .seconds(60))
        #expect(!first && !second)
        let another = backlog.refused(other, start + .seconds(60))
        #expect(another, "another name has its own minute")
        // Once the name takes an entry, it has a minute again.
        backlog.accepted(full)
        let again = backlog.refused(full, start + .seconds(61))
        #expect(again)
    }

    @Test func `a pass goes on behind entries that wait, and the next one begins a second later`() {
        var backlog = IntakeBacklog()
        backlog.turn(start)
        backlog.wait("1", full)
        backlog.passed("2")
        backlog.turn(start + .milliseconds(900))
        #expect(backlog.position == "2" && backlog.waiting == 1)
        #expect(backlog.rest(start + .milliseconds(900)) == .milliseconds(100))
        backlog.turn(start + .seconds(1))
        #expect(backlog.position == "0" && backlog.isEmpty && backlog.rest(start + .seconds(1)) == nil)
    }

    @Test func `a thousand entries wait, and then the patience is over`() {
        var backlog = IntakeBacklog()
        backlog.turn(start)
        _ = backlog.refused(full, start)
        for number in 0..<IntakeBacklog.most { backlog.wait("\(number)", full) }
        #expect(backlog.isFull)
        backlog.turn(start + .seconds(1))
        let waits = backlog.refused(full, start + .seconds(1))
        #expect(!backlog.isFull && !waits)
    }
}
