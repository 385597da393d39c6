import LiveActivity
import TestSupport
import Testing
import Threads

@testable import HTTPAPI
@testable import Store

/// Calls of an Android install that break off wherever Redis goes away. Its app repeats them.
@Suite struct AndroidRepeatTests {
    /// Breaks a call off at each of its commands in turn, each time with a phone of its own, and repeats it.
    private func eachBreak(
        prepare: (Phone) async throws -> Void, call: (Phone) async throws -> Reply,
        between: (Phone) async throws -> Void = { _ in },
        check: (Phone, _ place: String) async throws -> Void
    ) async throws {
        try await AnswersFixture.run { fixture in
            var number = 0
            for fault in [RedisProxy.Fault.cutBefore, .cutAfter] {
                var (passing, struck) = (0, true)
                while struck, passing < 100 {
                    number += 1
                    let phone = Phone(fixture: fixture, number: number)
                    try await prepare(phone)
                    fixture.proxy.arm(fault, passing: passing)
                    _ = try await call(phone)
                    struck = fixture.proxy.disarm()
                    try await between(phone)
                    var again = try await call(phone)
                    for _ in 0..<5 where again.status == 503 { again = try await call(phone) }
                    #expect(again.status == 200, "\(again.text)")
                    try await check(phone, "\(fault) after \(passing)")
                    passing += 1
                }
                #expect(passing > 3 && passing < 100, "the call sends no commands, or never the last one")
            }
        }
    }

    /// When the phone tells of the app's new version.
    enum Order: CaseIterable { case before, between, behind }

    /// The phone's clock is ahead, so its removals seem to be later than all that happens here.
    @Test(arguments: Order.allCases)
    func `what an update of the app removes comes back, however often the batch is repeated`(
        version order: Order
    ) async throws {
        try await eachBreak { phone in
            try await phone.put(version: "1.0")
            try await phone.batch("set", ago: 60_000)
            if order == .before { try await phone.put(version: "1.1") }
        } call: { phone in
            try await phone.batch("remove", ago: -5_000)
        } between: { phone in
            if order == .between { try await phone.put(version: "1.1") }
        } check: { phone, place in
            if order == .behind { try await phone.put(version: "1.1") }
            #expect(try await phone.cards() == [PushToken.withoutCard, PushToken.withoutCard], "\(place)")
            // The batch's answer was lost once more.
            try await phone.batch("remove", ago: -5_000)
            #expect(try await phone.cards() == [PushToken.withoutCard, PushToken.withoutCard], "\(place)")
            // The first card comes back, and both are swiped away. The report of the second one is lost.
            try await phone.batch("set", ago: -6_000, phone.names.prefix(1))
            #expect(try await phone.cards() == [PushToken.ofChannel, PushToken.withoutCard], "\(place)")
            try await phone.batch("remove", ago: -7_000)
            #expect(try await phone.cards() == [nil, nil], "\(place)")
        }
    }

    /// The states that go to silent phones too (`deliver_to`) also go to the new address of one.
    @Test(arguments: ["", #","opt_in":false"#])
    func `a new address brings the state of each name, wherever its call breaks off`(optIn: String) async throws {
        try await eachBreak { phone in
            try await phone.put(address: "one", optIn)
            try await phone.batch("set", ago: 60_000)
        } call: { phone in
            try await phone.put(address: "two", optIn)
        } check: { phone, place in
            let (address, registered) = (try await phone.address(), try await phone.registered())
            #expect(address == Phone.address("two"), "\(place)")
            // A state is repeated with a registration of now.
            #expect(registered == [testNow, testNow], "\(place)")
        }
    }

    /// The SDK clears all cards, and tells of no removal.
    @Test func `a phone whose push is switched off has no card when it comes back`() async throws {
        try await eachBreak { phone in
            try await phone.put(address: "one")
            try await phone.batch("set", ago: 60_000)
        } call: { phone in
            try await phone.put(#","opt_in":false,"background":false"#)
        } check: { phone, place in
            #expect(try await phone.address() == nil, "\(place)")
            #expect(try await phone.cards() == [PushToken.withoutCard, PushToken.withoutCard], "\(place)")
            try await phone.put(address: "one")
            #expect(try await phone.address() == Phone.address("one"), "\(place)")
            #expect(try await phone.cards() == [PushToken.withoutCard, PushToken.withoutCard], "\(place)")
        }
    }
}

/// Updates of an app whose removals come in other company than alone.
@Suite struct AndroidReleaseTests {
    private static let back: [[UInt8]?] = [PushToken.withoutCard, PushToken.withoutCard]

    /// - Parameter ago: when the phone told of its two cards, ms
    private func run(set ago: Int64 = 60_000, _ body: (Phone) async throws -> Void) async throws {
        try await AnswersFixture.run { fixture in
            let phone = Phone(fixture: fixture, number: 1)
            try await phone.put(version: "1.0")
            try await phone.batch("set", ago: ago)
            try await body(phone)
        }
    }

    /// An `end` for somebody else is kept as the name's last one, as the `end` before a start of the name is.
    @Test(arguments: [true, false])
    func `an end for another device leaves the names as they are`(comesFirst: Bool) async throws {
        try await run { phone in
            for name in phone.names {
                let live = #"{"name":"\#(name)","event":"end","content_state":{}}"#
                let notification = #"{"android":{"live_update":\#(live)}}"#
                let body =
                    #"{"audience":{"channel":"other"},"device_types":["android"],"notification":\#(notification)}"#
                #expect(try await phone.fixture.send("POST", "/api/push", body).status == 202)
            }
            if comesFirst { try await phone.put(version: "1.1") }
            try await phone.batch("remove", ago: 1_000)
            if !comesFirst { try await phone.put(version: "1.1") }
            #expect(try await phone.cards() == Self.back)
            for name in phone.names {
                let place = TokenPlace.activity(try ActivityName(name))
                _ = try await phone.fixture.store.registry.track(
                    phone.fixture.app, place,
                    [
                        Registration(
                            channel: try ChannelID(phone.channel), token: .ofChannel(on: .android),
                            registeredAt: testNow + 1)
                    ])
            }
            #expect(try await phone.cards() == [PushToken.ofChannel, PushToken.ofChannel])
            try await phone.put(#","opt_in":false,"background":false"#)
            #expect(try await phone.cards() == Self.back)
        }
    }

    /// The answer to the batch was lost, so the channel follows the new name when it comes again.
    @Test func `a batch that also begins a card of another name may be repeated`() async throws {
        try await run { phone in
            let other = "match-other"
            for _ in 0..<2 {
                try await phone.batch(phone.names.map { ("remove", $0, 1_000) } + [("set", other, 500)])
            }
            #expect(try await phone.cards() == [nil, nil])
            try await phone.put(version: "1.1")
            #expect(try await phone.cards() == Self.back)
        }
    }

    /// The app begins its card once more when it is launched.
    @Test func `a card that begins in the batch that removes it is the app's own`() async throws {
        try await run { phone in
            try await phone.put(version: "1.1")
            let (own, cleared) = (phone.names[0], phone.names[1])
            for _ in 0..<2 {
                try await phone.batch([("remove", own, 1_000), ("remove", cleared, 1_000), ("set", own, 500)])
                #expect(try await phone.cards() == [PushToken.ofChannel, PushToken.withoutCard])
            }
        }
    }

    @Test func `a name whose card has not come back is no card that a second update leaves`() async throws {
        try await run { phone in
            try await phone.put(version: "1.1")
            try await phone.batch("remove", ago: 4_000)
            #expect(try await phone.cards() == Self.back)
            try await phone.batch("set", ago: -1_000, phone.names.prefix(1))
            #expect(try await phone.cards() == [PushToken.ofChannel, PushToken.withoutCard])
            try await phone.put(version: "1.2")
            try await phone.batch("remove", ago: -2_000, phone.names.prefix(1))
            #expect(try await phone.cards() == Self.back)
        }
    }

    /// The end of the batch puts the second card back, or its repetition if the end broke off.
    @Test(arguments: [true, false])
    func `the version comes while the batch is being applied`(ends: Bool) async throws {
        try await run { phone in
            let (app, channel) = (try phone.fixture.app, try ChannelID(phone.channel))
            let names = try phone.names.map { try ActivityName($0) }
            let channels = phone.fixture.store.channels
            // The batch has noted its removals, and removed the first name.
            let cleared = ClearedNames(names, last: testNow - 1_000)
            #expect(try await channels.noteCleared(cleared, app, channel) == [])
            let untrack = Untrack(channel: channel, removedAt: testNow - 1_000)
            let live = phone.fixture.gateway.gateway.live.current
            let calls = ClearedCards(live.parts)
            _ = try await phone.fixture.store.registry.untrack(app, .activity(names[0]), [untrack])
            try await phone.put(version: "1.1")
            #expect(try await phone.cards() == [PushToken.withoutCard, PushToken.ofChannel])
            _ = try await phone.fixture.store.registry.untrack(app, .activity(names[1]), [untrack])
            if ends {
                let herd = ClearedCards.Herd(waiting: Set(names))
                try await calls.end(herd, of: channel, try #require(live.configuration.apps.first { $0.key == app }))
            } else {
                try await phone.batch("remove", ago: 1_000)
            }
            #expect(try await phone.cards() == Self.back)
        }
    }

    /// The clock of the phone was an hour ahead at the update, and is right since.
    @Test func `a card that is swiped away long after an update of the app stays away`() async throws {
        try await run(set: 10_000_000) { phone in
            let (app, channel) = (try phone.fixture.app, try ChannelID(phone.channel))
            let cleared = ClearedNames(try phone.names.map { try ActivityName($0) }, last: testNow - 4_000_000)
            _ = try await phone.fixture.store.channels.noteCleared(cleared, app, channel)
            try await phone.fixture.store.channels.backAgain(app, channel)
            try await phone.batch("remove", ago: 5_000_000)
            #expect(try await phone.cards() == [nil, nil])
        }
    }

    /// A bulk line of an old export.
    @Test func `an address that is older than the stored one moves nothing`() async throws {
        try await run { phone in
            try await phone.put(address: "one")
            let before = try await phone.registered()
            let address = #""token":"\#(Phone.address("old"))","registered_at_ms":\#(testNow - 2_592_000_000)"#
            let reply = try await phone.fixture.send(
                "POST", "/api/activities/match-other/channels",
                #"{"channel":"\#(phone.channel)","platform":"android",\#(address)}"#)
            #expect(reply.status == 200, "\(reply.text)")
            #expect(try await phone.address() == Phone.address("one"))
            #expect(try await phone.registered() == before)
        }
    }
}

/// An install that follows two names.
private struct Phone {
    let fixture: AnswersFixture
    let number: Int

    var channel: String { "phone-\(number)" }
    var names: [String] { ["match-\(number)-1", "match-\(number)-2"] }
    static func address(_ name: String) -> String { "\(name)-8T6:APA91b" + String(repeating: "x", count: 130) }

    @discardableResult
    func put(_ rest: String) async throws -> Reply {
        try await fixture.gateway.send(
            "PUT", "/api/channels/\(channel)", #"{"channel":{"device_type":"android"\#(rest)}}"#)
    }
    @discardableResult
    func put(address: String, _ rest: String = "") async throws -> Reply {
        try await put(#","push_address":"\#(Self.address(address))"\#(rest)"#)
    }
    func put(version: String) async throws {
        let rest = #","push_address":"\#(Self.address("one"))","app_version":"\#(version)""#
        var reply = try await put(rest)
        for _ in 0..<5 where reply.status == 503 { reply = try await put(rest) }
        #expect(reply.status == 200, "\(reply.text)")
    }

    /// A batch of Airship's SDK.
    /// - Parameter ago: ms
    @discardableResult
    func batch(_ action: String, ago: Int64, _ names: ArraySlice<String>? = nil) async throws -> Reply {
        try await batch((names ?? self.names[...]).map { (action, $0, ago) })
    }

    @discardableResult
    func batch(_ updates: [(action: String, name: String, ago: Int64)]) async throws -> Reply {
        let updates = updates.map { action, name, ago in
            let times = #""action_ts_ms":\#(testNow - ago),"start_ts_ms":\#(testNow - max(60_000, ago))"#
            return #"{"action":"\#(action)","name":"\#(name)",\#(times)}"#
        }
        return try await fixture.gateway.send(
            "PUT", "/api/channels/sdk/batch/\(channel)?platform=android",
            #"{"live_updates":[\#(updates.joined(separator: ","))]}"#)
    }

    private func entries() async throws -> [(card: [UInt8], at: Int64)?] {
        var entries: [(card: [UInt8], at: Int64)?] = []
        for name in names { entries.append(try await entry(.activity(try ActivityName(name)))) }
        return entries
    }

    private func entry(_ place: TokenPlace) async throws -> (card: [UInt8], at: Int64)? {
        let page = try await fixture.store.tokens.lookup(fixture.app, place, [ChannelID(channel).stored]).page
        return page.isEmpty ? nil : (Array(page.token(0)), page.entries[0].registeredAt)
    }

    /// The stored tokens of the names, in place of an address.
    func cards() async throws -> [[UInt8]?] { try await entries().map { $0?.card } }
    func registered() async throws -> [Int64?] { try await entries().map { $0?.at } }
    func address() async throws -> String? {
        try await entry(.addresses(on: .android)).flatMap { AndroidAddress(stored: $0.card)?.text }
    }
}
