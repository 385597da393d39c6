import LiveActivity
import Testing

@testable import Store

/// One report of a device or of APNs about one channel. Times are in seconds from the fixture's start.
private enum Action: Sendable, CustomStringConvertible {
    case set(token: Int, at: Int, id: String? = nil)
    case remove(at: Int, id: String? = nil)
    case prune(token: Int, since: Int? = nil)

    var description: String {
        switch self {
        case .set(let token, let at, let id): "set \(token)@\(at)\(id.map { " of \($0)" } ?? "")"
        case .remove(let at, let id): "remove@\(at)\(id.map { " of \($0)" } ?? "")"
        case .prune(let token, let since): "prune \(token)\(since.map { " since \($0)" } ?? "")"
        }
    }
}

private struct Story: Sendable, CustomTestStringConvertible {
    var title: String
    var actions: [Action]
    /// The token at the end of the story.
    var token: Int?
    var testDescription: String { title }

    init(_ title: String, _ actions: [Action], ends token: Int?) {
        self.title = title
        self.actions = actions
        self.token = token
    }
}

extension RegistryFixture {
    fileprivate func perform(_ actions: [Action], _ channel: ChannelID, in name: ActivityName) async throws {
        for action in actions {
            switch action {
            case .set(let token, let at, let id):
                _ = try await registry.track(
                    app, .activity(name),
                    [Registration(channel: channel, token: .test(token), registeredAt: moment(at), activityID: id)])
            case .remove(let at, let id):
                try await registry.untrack(
                    app, .activity(name), [Untrack(channel: channel, removedAt: moment(at), activityID: id)])
            case .prune(let token, let since):
                _ = try await registry.prune(
                    app, .activity(name),
                    [
                        TokenRemoval(
                            channel: channel.stored, token: PushToken.test(token).bytes, deadSince: since.map(moment))
                    ])
            }
        }
    }

    private func moment(_ seconds: Int) -> Int64 { TestTime.start - 3_600_000 + Int64(seconds) * 1_000 }

    fileprivate func token(_ channel: ChannelID, in name: ActivityName) async throws -> [UInt8]? {
        let (page, _) = try await registry.tokens.page(app, .activity(name), from: .start, to: .end, limit: 10)
        return (0..<page.count).first { Array(page.channel($0)) == channel.stored }.map { Array(page.token($0)) }
    }
}

@Suite struct RegistryRulesTests {
    private static let stories: [Story] = [
        Story("a registration", [.set(token: 1, at: 10)], ends: 1),
        Story("rotation", [.set(token: 1, at: 10), .set(token: 2, at: 20)], ends: 2),
        Story("an older registration arrives late", [.set(token: 2, at: 20), .set(token: 1, at: 10)], ends: 2),
        Story(
            "of two at the same moment the later arrival stays", [.set(token: 1, at: 5), .set(token: 2, at: 5)], ends: 2
        ),
        Story("removal", [.set(token: 1, at: 10), .remove(at: 20)], ends: nil),
        Story("an older removal arrives late", [.set(token: 1, at: 20), .remove(at: 10)], ends: 1),
        Story("a removal before its registration", [.remove(at: 20), .set(token: 1, at: 10)], ends: nil),
        Story("removed and followed again", [.set(token: 1, at: 1), .remove(at: 2), .set(token: 2, at: 3)], ends: 2),
        Story(
            "followed, removed, followed in one moment",
            [.set(token: 1, at: 1), .remove(at: 1), .set(token: 2, at: 1)], ends: 2),
        Story("a removal is matched by id", [.set(token: 1, at: 1, id: "B"), .remove(at: 2, id: "A")], ends: 1),
        Story("… and takes its own activity", [.set(token: 1, at: 1, id: "A"), .remove(at: 2, id: "A")], ends: nil),
        Story("a removal without id takes any", [.set(token: 1, at: 1, id: "A"), .remove(at: 2)], ends: nil),
        Story(
            "a registration without id is taken by any", [.set(token: 1, at: 1), .remove(at: 2, id: "A")], ends: nil),
        Story(
            "a repeated removal does not move back", [.remove(at: 20), .remove(at: 10), .set(token: 1, at: 15)],
            ends: nil),
        Story(
            "three activities end before the first one's registration comes",
            [
                .remove(at: 10, id: "A"), .remove(at: 20, id: "B"), .remove(at: 30, id: "C"),
                .set(token: 1, at: 5, id: "A"),
            ], ends: nil),
        Story(
            "the second activity's removal overtakes its registration",
            [.set(token: 1, at: 1, id: "A"), .remove(at: 6, id: "B"), .set(token: 4, at: 4, id: "B")], ends: nil),
        Story(
            "the first activity's removal, late, does not touch the second",
            [.remove(at: 3, id: "A"), .set(token: 2, at: 2, id: "B")], ends: 2),

        Story(
            "a card that lives among two that were removed later",
            [
                .set(token: 1, at: 1, id: "C"), .remove(at: 4, id: "C"), .remove(at: 3, id: "B"),
                .set(token: 2, at: 2, id: "A"),
            ], ends: 2),
        Story(
            "… and a second one that was removed",
            [
                .set(token: 1, at: 1, id: "A"), .remove(at: 5, id: "C"), .remove(at: 4, id: "B"),
                .set(token: 2, at: 2, id: "B"),
            ], ends: nil),
        Story(
            "a removal of another activity is known after a prune",
            [
                .set(token: 1, at: 1, id: "A"), .remove(at: 4, id: "B"), .prune(token: 1),
                .set(token: 2, at: 2, id: "B"),
            ], ends: nil),
        Story(
            "… and one that comes after the prune refuses its activity alone",
            [
                .set(token: 1, at: 1, id: "A"), .prune(token: 1), .remove(at: 4, id: "B"),
                .set(token: 2, at: 2, id: "C"),
            ], ends: 2),

        Story("a dead token is pruned", [.set(token: 1, at: 10), .prune(token: 1)], ends: nil),
        Story(
            "a 410 prunes what was registered before it", [.set(token: 1, at: 10), .prune(token: 1, since: 11)],
            ends: nil),
        Story(
            "registered again after the 410's timestamp", [.set(token: 1, at: 10), .prune(token: 1, since: 10)], ends: 1
        ),
        Story(
            "a late 410 against a re-registration",
            [.set(token: 1, at: 1), .set(token: 1, at: 9), .prune(token: 1, since: 5)], ends: 1),
        Story(
            "the predecessor's 410", [.set(token: 1, at: 1), .set(token: 2, at: 2), .prune(token: 1, since: 9)], ends: 2
        ),
        Story(
            "a pruned token does not come back late",
            [.set(token: 1, at: 2), .prune(token: 1, since: 9), .set(token: 1, at: 5)], ends: nil),
        Story("… nor repeated", [.set(token: 1, at: 2), .prune(token: 1), .set(token: 1, at: 2)], ends: nil),
        Story(
            "… but does when it is newer", [.set(token: 1, at: 2), .prune(token: 1, since: 9), .set(token: 1, at: 10)],
            ends: 1),
        Story(
            "a rotation that arrives after the prune",
            [.set(token: 1, at: 1), .prune(token: 1, since: 9), .set(token: 2, at: 5)], ends: 2),
        Story(
            "an older token after the prune",
            [.set(token: 2, at: 5), .prune(token: 2, since: 9), .set(token: 1, at: 3)], ends: nil),
        Story(
            "pruned, then removed", [.set(token: 1, at: 1), .prune(token: 1), .remove(at: 3), .set(token: 1, at: 2)],
            ends: nil),
        Story(
            "a prune of what was removed",
            [.set(token: 1, at: 1), .remove(at: 3), .prune(token: 1), .set(token: 1, at: 4)], ends: 1),
    ]

    @Test func `each story ends as the rules say`() async throws {
        try await RegistryFixture.run { fixture in
            for (number, story) in Self.stories.enumerated() {
                let name = try ActivityName("story-\(number)")
                let channel = ChannelID.random()
                try await fixture.perform(story.actions, channel, in: name)
                let token = try await fixture.token(channel, in: name)
                #expect(token == story.token.map { PushToken.test($0).bytes }, "\(story.title): \(story.actions)")
            }
        }
    }

    /// iOS gives an app the token of a card that is just going, some milliseconds after the first one of the next card.
    @Test func `a late report of an older card does not take the newer card's place`() async throws {
        try await RegistryFixture.run { fixture in
            let now = TestTime.start
            func card(_ id: String, _ token: Int, startedAgo: Int64, at: Int64, _ channel: ChannelID) -> Registration {
                Registration(
                    channel: channel, token: .test(token), registeredAt: at, startedAt: now - startedAgo, activityID: id
                )
            }
            for order in [[0, 1], [1, 0], [0, 1, 1], [1, 0, 1]] {
                let name = try ActivityName("order-\(order)")
                let place = TokenPlace.activity(name)
                let channel = ChannelID.random()
                let reports = [
                    card("TWO", 2, startedAgo: 10_000, at: now - 10_000, channel),
                    card("ONE", 3, startedAgo: 600_000, at: now, channel),
                ]
                for report in order { _ = try await fixture.registry.track(fixture.app, place, [reports[report]]) }
                #expect(try await fixture.token(channel, in: name) == PushToken.test(2).bytes, "\(order)")
                try await fixture.registry.untrack(
                    fixture.app, place, [Untrack(channel: channel, removedAt: now, activityID: "ONE")])
                #expect(try await fixture.token(channel, in: name) == PushToken.test(2).bytes, "\(order)")
                let rotated = card("TWO", 4, startedAgo: 10_000, at: now, channel)
                _ = try await fixture.registry.track(fixture.app, place, [rotated])
                #expect(try await fixture.token(channel, in: name) == PushToken.test(4).bytes, "\(order)")
            }
        }
    }

    /// Histories of a device. The result is the same in whatever order the reports arrive.
    private static let histories: [Story] = [
        Story("one activity, rotated", [.set(token: 1, at: 1), .set(token: 2, at: 2), .set(token: 3, at: 3)], ends: 3),
        Story(
            "one activity to its end",
            [.set(token: 1, at: 1, id: "A"), .set(token: 2, at: 2, id: "A"), .remove(at: 3, id: "A")], ends: nil),
        Story(
            "one activity after another, without ids",
            [.set(token: 1, at: 1), .remove(at: 2), .set(token: 3, at: 3), .set(token: 4, at: 4)], ends: 4),
        Story(
            "a second activity replaces the first",
            [
                .set(token: 1, at: 1, id: "A"), .set(token: 2, at: 2, id: "A"), .remove(at: 3, id: "A"),
                .set(token: 4, at: 4, id: "B"),
            ],
            ends: 4),
        Story(
            "… and ends, while the first one's removal never comes",
            [.set(token: 1, at: 1, id: "A"), .set(token: 4, at: 4, id: "B"), .remove(at: 6, id: "B")], ends: nil),
        Story(
            "… and ends too",
            [
                .set(token: 1, at: 1, id: "A"), .remove(at: 3, id: "A"), .set(token: 4, at: 4, id: "B"),
                .set(token: 5, at: 5, id: "B"), .remove(at: 6, id: "B"),
            ],
            ends: nil),
    ]

    @Test func `the order of arrival does not matter`() async throws {
        try await RegistryFixture.run { fixture in
            for (number, history) in Self.histories.enumerated() {
                for (turn, order) in permutations(history.actions).enumerated() {
                    // Deliver each report once, and also twice, because a repetition must be harmless.
                    for (times, delivered) in [order, order + order, order.flatMap { [$0, $0] }].enumerated() {
                        let name = try ActivityName("history-\(number)-\(turn)-\(times)")
                        let channel = ChannelID.random()
                        try await fixture.perform(delivered, channel, in: name)
                        let token = try await fixture.token(channel, in: name)
                        #expect(
                            token == history.token.map { PushToken.test($0).bytes }, "\(history.title): \(delivered)")
                    }
                }
            }
        }
    }

    /// Each pool has the ids of a device's cards; nil: the card has no id.
    private static let pools: [[String?]] = [["A"], ["A", "B"], ["A", "B", "C"], ["A", "B", nil]]

    /// The newest registration stays, unless a later removal takes it.
    @Test(arguments: pools) func `random reports of three cards end in any order as in the right one`(
        ids: [String?]
    ) async throws {
        var random = TestRandom(seed: UInt64(ids.count))
        try await RegistryFixture.run { fixture in
            for turn in 0..<600 {
                let history = (1...Int.random(in: 2...5, using: &random)).map { at -> Action in
                    let id = ids.randomElement(using: &random) ?? nil
                    return Bool.random(using: &random) ? .set(token: at, at: at, id: id) : .remove(at: at, id: id)
                }
                var card: (token: Int, id: String?)?
                for action in history {
                    switch action {
                    case .set(let token, _, let id): card = (token, id)
                    case .remove(_, let id) where id == nil || card?.id == nil || id == card?.id: card = nil
                    default: break
                    }
                }
                let name = try ActivityName("random-\(turn)")
                let channel = ChannelID.random()
                var order = history.shuffled(using: &random)
                if turn.isMultiple(of: 3) { order += order.shuffled(using: &random) }
                try await fixture.perform(order, channel, in: name)
                let token = try await fixture.token(channel, in: name)
                #expect(token == card.map { PushToken.test($0.token).bytes }, "\(history) in order \(order)")
            }
        }
    }

    @Test func `answers say what was done`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let channel = ChannelID.random()
            let now = fixture.time.now
            func set(_ token: Int, _ at: Int64) -> Registration {
                Registration(channel: channel, token: .test(token), registeredAt: at)
            }
            func prune(_ token: Int, _ since: Int64?) -> TokenRemoval {
                TokenRemoval(channel: channel.stored, token: PushToken.test(token).bytes, deadSince: since)
            }
            #expect(try await registry.prune(app, .activity(name), [prune(1, nil)]) == [.gone])
            // Several registrations of one channel in one call are applied in their order.
            let results = try await registry.track(
                app, .activity(name), [set(1, now - 5), set(2, now - 9), set(3, now - 1)])
            #expect(results == [.stored, .stale, .stored])
            #expect(
                try await registry.prune(app, .activity(name), [prune(1, nil), prune(3, now - 1)]) == [.newer, .newer])
            // A worker repeats a prune because it died before it confirmed the removal. It gets the same result, so the
            // count stays the same.
            for _ in 0..<3 { #expect(try await registry.prune(app, .activity(name), [prune(3, now)]) == [.pruned]) }
            #expect(try await registry.prune(app, .activity(name), [prune(2, nil)]) == [.newer])
            try await registry.untrack(app, .activity(name), [Untrack(channel: channel, removedAt: now)])
            #expect(try await registry.prune(app, .activity(name), [prune(3, now)]) == [.pruned])
            #expect(try await registry.track(app, .activity(name), [set(4, now)]) == [.stored])
            try await registry.untrack(app, .activity(name), [Untrack(channel: channel, removedAt: now)])
            #expect(try await registry.prune(app, .activity(name), [prune(4, nil)]) == [.gone])
        }
    }

    /// A process with an outdated number of buckets is corrected within the call.
    @Test func `several of one channel keep their order under an outdated count`() async throws {
        try await RegistryFixture.run { fixture in
            let (app, name, now) = (fixture.app, fixture.name, fixture.time.now)
            func registrations(_ channels: [ChannelID], _ tokens: Range<Int>) -> [Registration] {
                tokens.flatMap { token in
                    channels.map { Registration(channel: $0, token: .test(token), registeredAt: now) }
                }
            }
            let channels = (0..<20).map { _ in ChannelID.random() }
            _ = try await fixture.registry.track(app, .activity(name), registrations(channels, 0..<1))
            let others = (0..<1_000).map { _ in ChannelID.random() }
            _ = try await fixture.otherRegistry().track(app, .activity(name), registrations(others, 0..<1))
            let results = try await fixture.registry.track(app, .activity(name), registrations(channels, 1..<6))
            #expect(results.allSatisfy { $0 == .stored })
            let tokens = try await fixture.scan().tokens
            #expect(channels.allSatisfy { tokens[$0.stored] == PushToken.test(5).bytes })
        }
    }

    @Test func `what belongs to others is untouched`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, name) = (fixture.registry, fixture.name)
            let otherApp = try AppKey("other")
            let (first, second) = (ChannelID.random(), ChannelID.random())
            let now = fixture.time.now
            for app in [fixture.app, otherApp] {
                _ = try await registry.track(
                    app, .activity(name),
                    [first, second].map { Registration(channel: $0, token: .test(7), registeredAt: now - 10) })
            }
            let pruned = try await registry.prune(
                fixture.app, .activity(name),
                [TokenRemoval(channel: first.stored, token: PushToken.test(7).bytes, deadSince: now)])
            #expect(pruned == [.pruned])
            #expect(try await fixture.scan().tokens.keys.map { $0 } == [second.stored])
            #expect(try await registry.names.info(otherApp, name)?.tokens == 2)
        }
    }

    @Test func `times in the future are clamped to now`() async throws {
        try await RegistryFixture.run { fixture in
            let (registry, app, name) = (fixture.registry, fixture.app, fixture.name)
            let channel = ChannelID.random()
            let now = fixture.time.now
            _ = try await registry.track(
                app, .activity(name),
                [Registration(channel: channel, token: .test(1), registeredAt: .max, startedAt: .min)])
            #expect(try await registry.names.info(app, name) == nil, "an activity that began long ago is over")
            _ = try await registry.track(
                app, .activity(name), [Registration(channel: channel, token: .test(1), registeredAt: now + 86_400_000)])
            let (page, _) = try await registry.tokens.page(app, .activity(name), from: .start, to: .end, limit: 1)
            #expect(page.entries.map(\.registeredAt) == [now])
            let prune = TokenRemoval(channel: channel.stored, token: PushToken.test(1).bytes, deadSince: .max)
            #expect(try await registry.prune(app, .activity(name), [prune]) == [.newer], "not registered before now")
        }
    }
}

private func permutations<Element>(_ elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}
