import Answers
import LiveActivity
import Redis
import TestSupport
import Testing

@testable import Store
@testable import StoreDeliveries
@testable import StoreGround

/// Proposals in Redis: who may decide, that one decision counts, and what a crash leaves.
@Suite struct ProposalsTests {
    private let ann = Proposal.Person(identity: "a", publisher: Publisher(credential: "ann", address: "::1"))
    private let bob = Proposal.Person(identity: "b", publisher: Publisher(credential: "bob", address: "::1"))
    private let cid = Proposal.Person(
        identity: "c", publisher: Publisher(credential: "oidc", address: "::1", who: "Cid"))

    /// A proposal of Ann.
    private func proposal(
        _ time: Int64, lapses: Int64 = 3_600_000, id: PushID = .random(), names: [String] = ["match-1"]
    ) throws -> Proposal {
        Proposal(
            id: id, kind: .publish, pushIDs: [id, .random()], names: try names.map { try ActivityName($0) },
            body: Array(#"[{"audience":"all"}]"#.utf8), asker: ann, askedAt: time, lapses: time + lapses)
    }

    private func waiting(_ fixture: PushFixture, lapses: Int64 = 3_600_000) async throws -> Proposal {
        let proposal = try proposal(try await fixture.redisTime() - 1_000, lapses: lapses)
        #expect(try await fixture.store.proposals.keep(fixture.app, proposal) == .new)
        return proposal
    }

    private func decide(
        _ fixture: PushFixture, _ proposal: Proposal, _ person: Proposal.Person, approves: Bool = true,
        now: Int64? = nil
    ) async throws -> ProposalResult {
        let time = if let now { now } else { try await fixture.redisTime() }
        let found = try await fixture.store.proposals.find(fixture.app, proposal.id) ?? proposal
        return try await fixture.store.proposals.decide(
            fixture.app, found, approves: approves, request: proposal.request, by: person,
            now: time)
    }

    private func listed(_ fixture: PushFixture, over isOver: Bool = false) async throws -> [PushID] {
        try await fixture.store.proposals.list(
            fixture.app, isOver: isOver, limit: 10, now: try await fixture.redisTime()
        ).proposals.map(\.id)
    }

    // MARK: Values

    @Test(arguments: [
        (ApprovalRule.all, [ActivityEvent.start, .update, .end]), (.startsAndEnds, [.start, .end]), (.ends, [.end]),
    ])
    func `the rule names events`(_ rule: ApprovalRule, _ events: [ActivityEvent]) {
        #expect(ActivityEvent.allCases.filter(rule.covers) == events)
    }

    @Test func `a proposal lapses some time after it was made or was to go out, and before a push of it is stale`() {
        func push(wanted: Int64? = nil, stale: Int? = nil, expiry: Int? = nil) -> Proposal.Due {
            var publish = Publish(name: try! ActivityName("n"), event: .update, audience: .all, staleDate: stale)
            publish.options.expiry = expiry
            return Proposal.Due(publish, wanted: wanted)
        }
        func lapse(_ pushes: Proposal.Due...) -> Int64 {
            Proposal.lapse(of: pushes, askedAt: 1_000_000, after: .seconds(60))
        }
        #expect(lapse(push()) == 1_060_000)
        #expect(lapse(push(wanted: 900_000)) == 1_060_000, "its time was past when it was asked for")
        #expect(lapse(push(wanted: 2_000_000)) == 2_060_000)
        #expect(lapse(push(stale: 1_030)) == 1_030_000 && lapse(push(stale: 1_050, expiry: 1_040)) == 1_040_000)
        #expect(lapse(push(stale: 999, expiry: 0)) == 1_060_000, "dates of the past say nothing")
        #expect(lapse(push(wanted: 2_000_000), push(stale: 1_030)) == 1_030_000, "the first of them counts")
    }

    @Test func `what opens publish, and who must propose`() {
        #expect(Set([CredentialScope.propose]).opens(.publish) && Set([CredentialScope.publish]).opens(.publish))
        #expect(
            !Set([CredentialScope.publish, .propose]).opens(.approve) && !Set([CredentialScope.approve]).opens(.publish)
        )
        #expect(
            Set([CredentialScope.propose, .read]).mustPropose && !Set([CredentialScope.propose, .publish]).mustPropose)
        #expect(!Set([CredentialScope.publish]).mustPropose)
    }

    // MARK: Decisions

    @Test func `a proposal is kept as it is, once`() async throws {
        let fixture = try await PushFixture.start()
        let proposals = fixture.store.proposals
        let waiting = try await waiting(fixture)
        #expect(try await proposals.find(fixture.app, waiting.id) == waiting)
        var other = waiting
        (other.body, other.request) = (Array("{}".utf8), "x")
        #expect(try await proposals.keep(fixture.app, other) == .known(waiting))
        #expect(try await listed(fixture) == [waiting.id])
        #expect(try await proposals.due(fixture.app, now: try await fixture.redisTime()).isEmpty)
    }

    @Test func `of several who decide at once one counts, and each learns of it whenever it asks again`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await waiting(fixture)
        let results = try await withThrowingTaskGroup(of: ProposalResult.self) { group in
            for person in [bob, cid, bob, cid] { group.addTask { try await decide(fixture, waiting, person) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var deciders: Set<String> = []
        for case .decided(let proposal) in results { deciders.insert(proposal.decision?.by.identity ?? "") }
        #expect(deciders.count == 1, "one of them has approved it: \(results)")
        let others = results.filter { if case .settled = $0 { true } else { false } }
        #expect(others.count == 2, "the other one learns of it both times")
        let approved = try #require(try await fixture.store.proposals.find(fixture.app, waiting.id))
        #expect(approved.state == .approved && approved.asker == ann)
        let decider = try #require(approved.decision?.by)
        var published = approved
        (published.state, published.endedAt) = (.published, 1)
        let isFirst = try await fixture.store.proposals.settle(fixture.app, published, from: approved, now: 1)
        #expect(isFirst)
        let isSecond = try await fixture.store.proposals.settle(fixture.app, published, from: approved, now: 2)
        #expect(!isSecond, "another gateway was faster")
        #expect(try await decide(fixture, waiting, decider) == .decided(published))
        #expect(try await listed(fixture).isEmpty)
        #expect(try await listed(fixture, over: true) == [waiting.id])
    }

    @Test func `the person who asked decides neither way, whatever the name is`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await waiting(fixture)
        let renamed = Proposal.Person(identity: "a", publisher: Publisher(credential: "oidc", address: "::2", who: "X"))
        for approves in [true, false] {
            #expect(try await decide(fixture, waiting, ann, approves: approves) == .own)
            #expect(try await decide(fixture, waiting, renamed, approves: approves) == .own)
        }
        #expect(try await fixture.store.proposals.find(fixture.app, waiting.id) == waiting)
    }

    @Test func `rejected it stays so`() async throws {
        let fixture = try await PushFixture.start()
        let waiting = try await waiting(fixture)
        guard case .decided(let rejected) = try await decide(fixture, waiting, bob, approves: false) else {
            throw Unexpected(what: "not rejected")
        }
        #expect(rejected.state == .rejected)
        #expect(try await fixture.store.proposals.find(fixture.app, waiting.id) == rejected)
        #expect(try await decide(fixture, waiting, bob, approves: false) == .decided(rejected))
        for person in [bob, cid] { #expect(try await decide(fixture, waiting, person) == .settled(rejected)) }
        #expect(try await listed(fixture).isEmpty)
        #expect(try await listed(fixture, over: true) == [waiting.id])
        let edit = try proposal(1, id: waiting.id)
        let isEdited = try await fixture.store.proposals.edit(fixture.app, edit, over: waiting.request)
        #expect(!isEdited)
    }

    // MARK: Changes

    @Test func `an edit makes another request, of the person who edits`() async throws {
        let fixture = try await PushFixture.start()
        let proposals = fixture.store.proposals
        let first = try await waiting(fixture)
        var second = try proposal(first.askedAt, lapses: 7_200_000, id: first.id)
        second.asker = cid
        #expect(try await proposals.edit(fixture.app, second, over: first.request))
        #expect(try await proposals.find(fixture.app, first.id) == second)
        let third = try proposal(first.askedAt, id: first.id)
        let isBlind = try await proposals.edit(fixture.app, third, over: first.request)
        #expect(!isBlind, "its editor has not seen the second one")
        #expect(try await decide(fixture, first, bob) == .changed, "Bob has seen the first one")
        #expect(try await decide(fixture, second, cid) == .own)
        guard case .decided = try await decide(fixture, second, ann) else { throw Unexpected(what: "not approved") }
    }

    @Test func `of an approval and an edit at once, one counts`() async throws {
        let fixture = try await PushFixture.start()
        for _ in 0..<20 {
            let first = try await waiting(fixture)
            let second = try proposal(first.askedAt, id: first.id)
            async let approval = decide(fixture, first, bob)
            async let edit = fixture.store.proposals.edit(fixture.app, second, over: first.request)
            let (result, isEdited) = try await (approval, edit)
            let found = try #require(try await fixture.store.proposals.find(fixture.app, first.id))
            if isEdited {
                #expect(found == second && result == .changed)
            } else {
                #expect(found.state == .approved && found.request == first.request)
            }
        }
    }

    // MARK: Lapses and crashes

    @Test func `nobody decided in time: it is due, and no decision counts`() async throws {
        let fixture = try await PushFixture.start()
        let proposals = fixture.store.proposals
        let time = try await fixture.redisTime()
        let lapsing = try proposal(time - 10_000, lapses: 9_000)
        _ = try await proposals.keep(fixture.app, lapsing)
        #expect(try await decide(fixture, lapsing, bob) == .lapsed)
        #expect(try await listed(fixture).isEmpty, "also before a gateway has seen it")
        #expect(try await proposals.count(fixture.app, now: time) == 0)
        #expect(try await proposals.due(fixture.app, now: time) == [lapsing])
        var lapsed = lapsing
        (lapsed.state, lapsed.endedAt) = (.lapsed, time)
        #expect(try await proposals.settle(fixture.app, lapsed, from: lapsing, now: time))
        #expect(try await decide(fixture, lapsing, bob) == .settled(lapsed))
        #expect(try await proposals.due(fixture.app, now: time).isEmpty)
        let action = Action.lapse(lapsed)
        #expect(action.credential == "ann" && action.subjects[.entry] == lapsed.id.description)
    }

    @Test func `a gateway that dies behind the approval leaves a proposal that another one finds`() async throws {
        let fixture = try await PushFixture.start()
        let proposals = fixture.store.proposals
        let waiting = try await waiting(fixture)
        guard case .decided(let approved) = try await decide(fixture, waiting, bob) else {
            throw Unexpected(what: "not approved")
        }
        let time = try #require(approved.decision?.at)
        #expect(try await listed(fixture) == [waiting.id], "the page says that it is not sent yet")
        #expect(try await proposals.count(fixture.app, now: time) == 0, "nobody has to decide about it")
        #expect(try await proposals.due(fixture.app, now: time).isEmpty, "the gateway that decided is at it")
        #expect(try await proposals.due(fixture.app, now: time + Proposals.patience) == [approved])
    }

    @Test func `a record that has expired goes out of the list`() async throws {
        let fixture = try await PushFixture.start()
        let (store, time) = (fixture.store, try await fixture.redisTime())
        let lapsing = try proposal(time - 10_000, lapses: 5_000)
        _ = try await store.proposals.keep(fixture.app, lapsing)
        try await store.redis.run("DEL", store.keys.proposal(fixture.app, lapsing.id))
        #expect(try await store.proposals.due(fixture.app, now: time).isEmpty)
        #expect(try await store.redis.run("ZCARD", store.keys.openProposals(fixture.app)).integer() == 0)
    }

    // MARK: Lists

    @Test func `a list is of the names of its reader, page by page, and its count too`() async throws {
        let fixture = try await PushFixture.start()
        let proposals = fixture.store.proposals
        let time = try await fixture.redisTime()
        let all = try (0..<5).map { number in
            let names = number == 2 ? ["other"] : number == 3 ? ["match-1", "other"] : ["match-1", "match-2"]
            return try proposal(time, lapses: 60_000 + Int64(number), names: names)
        }
        for one in all { _ = try await proposals.keep(fixture.app, one) }
        func page(_ after: String?) async throws -> (ids: [PushID], total: Int, next: String?) {
            let page = try await proposals.list(
                fixture.app, isOver: false, namesFrom: "match-", after: after, limit: 2, now: time)
            return (page.proposals.map(\.id), page.total, page.next)
        }
        let first = try await page(nil)
        #expect(first.ids == [all[0].id, all[1].id] && first.total == 3)
        let next = try #require(first.next)
        #expect(Proposals.isPosition(next) && !Proposals.isPosition("x") && !Proposals.isPosition("1-x"))
        let second = try await page(next)
        #expect(second.ids == [all[4].id] && second.total == 3 && second.next == nil)
        #expect(try await proposals.count(fixture.app, namesFrom: "match-", now: time) == 3)
        #expect(try await proposals.count(fixture.app, now: time) == 5)
        // The last one of a page may go before the next page is read.
        _ = try await decide(fixture, all[1], bob, approves: false, now: time)
        #expect(try await page(next).ids == [all[4].id])
        _ = try await decide(fixture, all[0], bob, approves: false, now: time + 1)
        let over = try await proposals.list(fixture.app, isOver: true, limit: 1, now: time)
        #expect(over.proposals.map(\.id) == [all[0].id] && over.total == 2, "the latest first")
        let rest = try await proposals.list(fixture.app, isOver: true, after: over.next, limit: 1, now: time)
        #expect(rest.proposals.map(\.id) == [all[1].id] && rest.next == nil)
    }

    @Test func `no more than so many wait`() async throws {
        let fixture = try await PushFixture.start()
        let (store, time) = (fixture.store, try await fixture.redisTime())
        let members = (0..<Proposals.most).flatMap { _ -> [RedisArgument] in
            [.int(time + 60_000), .bytes(PushID.random().uuid.bytes)]
        }
        try await store.redis.run("ZADD", store.keys.openProposals(fixture.app), members)
        let one = try proposal(time)
        #expect(try await store.proposals.keep(fixture.app, one) == .full)
        #expect(try await store.proposals.find(fixture.app, one.id) == nil)
        // Those that have lapsed wait no more.
        let late = try proposal(time + 60_001)
        #expect(try await store.proposals.keep(fixture.app, late) == .new)
    }
}
