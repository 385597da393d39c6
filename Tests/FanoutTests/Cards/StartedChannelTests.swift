import APNsWire
import LiveActivity
import Redis
import Synchronization
import TestSupport
import Testing

@testable import Fanout
@testable import Store

/// Tests pushes for channels that a start reached before they had a token.
@Suite struct StartedChannelTests {
    @Test func `a started channel gets what was published since, without asking`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channels = (0..<4).map { _ in ChannelID.random() }
        try await fixture.withWorker(transport) {
            try await fixture.swept(["before"])
            let start = try #require(try await fixture.store.pushes.ledger(fixture.app, fixture.lastPush()!))
            // This takes the place of a `start`, which has its own sequence number. No older state is shown over it.
            let sequence = try await fixture.sequence(start.id)
            try await fixture.expect([channels[0], channels[1]], startedBy: sequence)
            try await fixture.follow(channels[0], 0, wants: false)
            try await fixture.nobodyIsLate()
            try await fixture.swept(["since"])
            try await fixture.follow(channels[1], 1, wants: false)
            try await fixture.follow(channels[2], 2, wants: false)
            // A card that begins before the response is settled would get the state as a rotated token does.
            let since = try #require(try await fixture.lastPush())
            try await eventually("the late response is settled") {
                try await fixture.store.pushes.ledger(fixture.app, since)?.delivered == 2
            }
            // The activity begins later by itself under the same name. Its channel was awaited only once.
            try await fixture.untrack(channels[1])
            try await fixture.follow(channels[1], 11, wants: false)
            try await fixture.nobodyIsLate()
            // A channel whose start was too long ago is not awaited any more.
            try await fixture.expect([channels[3]], startedBy: sequence, hoursAgo: 9)
            try await fixture.follow(channels[3], 3, wants: false)
            try await fixture.nobodyIsLate()
        }
        #expect(transport.taken == [0: ["since"], 1: ["since"]])
    }

    @Test func `whose token comes after the end is ended`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channels = (0..<2).map { _ in ChannelID.random() }
        let end = try await fixture.withWorker(transport) {
            try await fixture.swept(["before"])
            try await fixture.expect([channels[0]], startedBy: 1)
            let end = try await fixture.finished(try await fixture.publish(event: .end, label: "end"))
            try await fixture.isLater(than: end.createdAt + 1)
            try await fixture.follow(channels[0], 0, wants: false)
            await transport.answered(1)
            let ended = try await fixture.finished(end.id)
            let info = try await fixture.store.names.info(fixture.app, fixture.name)
            #expect(info?.tokens == 0 && info?.ended == true)
            try await fixture.follow(channels[1], 1)
            try await fixture.nobodyIsLate()
            return ended
        }
        #expect(transport.taken == [0: ["end"]])
        #expect(end.late == 1 && end.delivered == 1)
    }

    /// The device got no answer, or its token rotated, before the end reached it.
    @Test func `a card of before the end opens nothing by registering once more`() async throws {
        let fixture = try await WorkerFixture.start()
        let channels = (0..<3).map { _ in ChannelID.random() }
        for (number, channel) in channels[0...1].enumerated() {
            try await fixture.expect([channel], startedBy: 0)
            if number == 0 { try await fixture.follow(channel, 0, wants: false, activity: "first") }
        }
        let end = try await fixture.publish(event: .end, label: "end")
        let ledger = try #require(try await fixture.store.pushes.ledger(fixture.app, end))
        try await fixture.isLater(than: ledger.createdAt + 1)
        try await fixture.follow(channels[0], 100, wants: false, activity: "first")
        for number in [1, 1, 101] { try await fixture.follow(channels[1], number, wants: false, activity: "second") }
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.ended == true)
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { _ = try await fixture.finished(end) }
        #expect(transport.taken == [100: ["end"], 101: ["end"]])
        // A card of its own opens the name, even if its device does not know yet that the previous card is over.
        try await fixture.follow(channels[2], 2, wants: false, activity: "third")
        #expect(try await fixture.store.names.info(fixture.app, fixture.name)?.ended == false)
    }

    @Test func `an end for some is for their started cards though the name went on`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channels = (0..<4).map { _ in ChannelID.random() }
        let vips = Audience.tag("vip", group: "device")
        var vip = TagChange()
        vip.add = ["device": ["vip"]]
        try await fixture.store.channels.tag(fixture.app, Array(channels[0...2]), vip)
        try await fixture.withWorker(transport) {
            try await fixture.swept(["before"])
            try await fixture.expect([channels[0], channels[3]], startedBy: 1)
            let end = try await fixture.finished(try await fixture.publish(vips, event: .end, label: "end"))
            try await fixture.swept(["vips"], vips)
            try await fixture.swept(["all"])
            // One channel was started again since, and one began by itself.
            try await fixture.expect([channels[1]], startedBy: 3)
            try await fixture.follow(channels[2], 2)
            for number in [0, 1, 3] { try await fixture.follow(channels[number], number, wants: false) }
            await transport.answered(4)
            try await fixture.nobodyIsLate()
            let ended = try await fixture.finished(end.id)
            #expect(ended.late == 1 && ended.delivered == 1)
            _ = try await fixture.finished(try await fixture.publish(event: .end, label: "end of all"))
            let states = try await fixture.store.lateJoiners.states(fixture.app, fixture.name)
            #expect(states.kept.first?.audience == .all && states.kept.first?.event == .end)
        }
        #expect(
            transport.taken
                == [0: ["end"], 1: ["all", "end of all"], 2: ["all", "end of all"], 3: ["all", "end of all"]])
    }

    @Test func `a gateway that dies before it wakes a worker leaves a timer for the end`() async throws {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        let channel = ChannelID.random()
        let end = try await fixture.withWorker(transport) {
            try await fixture.expect([channel], startedBy: 0)
            let end = try await fixture.finished(try await fixture.publish(event: .end, label: "end"))
            try await fixture.isLater(than: end.createdAt + 1)
            return end.id
        }
        try await fixture.follow(channel, 0, wants: false)
        try await fixture.nobodyIsLate()
        try await fixture.loseTheWakeUp()
        try await fixture.withWorker(transport) {
            let ended = try await fixture.finished(end)
            #expect(ended.late == 1 && ended.delivered == 1)
        }
        #expect(transport.taken == [0: ["end"]])
    }

    @Test(arguments: [false, true]) func `a device that got no answer repeats its call and wakes a worker`(wants: Bool)
        async throws
    {
        let fixture = try await WorkerFixture.start()
        let transport = ScriptedTransport()
        try await fixture.withWorker(transport) { try await fixture.swept(["before", "since"]) }
        let channel = ChannelID.random()
        if !wants { try await fixture.expect([channel], startedBy: 1) }
        try await fixture.follow(channel, 0, wants: wants)
        try await fixture.loseTheWakeUp()
        try await fixture.follow(channel, 0, wants: wants)
        try await fixture.withWorker(transport) { await transport.answered(1) }
        #expect(transport.taken == [0: ["since"]])
    }
}
