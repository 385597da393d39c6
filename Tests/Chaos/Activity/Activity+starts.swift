import Curl
import Foundation

/// A name whose cards pushes create.
///
/// The devices learn of a start from the simulator. Some report the token of the new activity later: before the next
/// update, after some updates, or after the end.
extension Activity {
    struct RequestedStart: Sendable {
        var number: Int
        var audience: Audience
        /// The id of an accepted start.
        var id: String?
        /// Channels that must get the start. Their start tokens are alive, and they neither followed nor reported a
        /// token before it was over.
        var expected: Set<Int> = []
        /// An `end` was accepted before the whole start was sent, so the rest of the start is skipped.
        var isOvertaken = false
    }

    struct Card: Sendable {
        var start: Int
        /// The time at which its token is reported, after the start has come. In milliseconds of the run.
        var due: Int?
    }

    /// How many devices of one start report a token. The others have a card but stay silent.
    private static let sampled = 40

    /// Prepares a start. It waits for devices that are reporting the token of a card from before the last end. Devices
    /// outside the start's audience report theirs later.
    func prepareStart(_ audience: Audience) async throws {
        let end = ends.last { $0.audience == .all }?.number ?? 0
        cards = cards.filter { $0.value.start > end || !covers(audience, $0.key) }
        while answering.contains(where: { $0 < end }) { try await Task.sleep(for: .milliseconds(20)) }
        starts.append(RequestedStart(number: number + 1, audience: audience))
    }

    func noteAcceptedStart(_ number: Int, _ id: String) {
        isEnded = false
        guard let index = starts.lastIndex(where: { $0.number == number }), let tokens = startTokens else { return }
        let audience = starts[index].audience
        let reachable = places.indices.filter { place in
            guard covers(audience, place), tokens.fates[place] == .living else { return false }
            return switch places[place].state {
            case .following: false
            // The end may have got a 410 from before the registration, so this channel may still follow.
            case .ended: places[place].fate == .living
            // A removal of this channel may be in progress.
            case .out, .retired: places[place].answered < .max
            case .unclear: false
            }
        }
        starts[index].id = id
        starts[index].expected = Set(reachable)
        var random = SeededRandom(run.seed, "cards of \(number)")
        let reporting = reachable.filter { places[$0].state != .retired }
        for place in reporting.shuffled(using: &random).prefix(Self.sampled) { cards[place] = Card(start: number) }
    }

    /// Notes which starts an `end` for all overtakes. It must be called before the end is published.
    func overtakeStarts(waits: Bool) async throws {
        for index in starts.indices where !starts[index].isOvertaken {
            guard let id = starts[index].id else { continue }
            if waits { try await over(id) }
            starts[index].isOvertaken = try await pushes.look(id)?.isFinal != true
        }
    }

    /// Notes that a card which a start created has reported its token. An end that was accepted after the
    /// start is for this card.
    func noteReportedCard(_ place: Int, _ start: Int) {
        let after = ends.last { $0.number < start }?.number ?? 0
        places[place].after = after
        for index in starts.indices where starts[index].number > start { starts[index].expected.remove(place) }
        guard let end = ends.first(where: { $0.number > start }) else { return }
        ended.append(Ended(id: token(place), place: place, was: places[place], number: end.number))
        places[place].state = .ended(end.number)
    }

    /// The name of the registry check. It starts a card on every device that has a start token.
    static func forRegistryCheck(
        _ plan: Plan, _ gateways: Gateways, _ pushes: Pushes, _ clock: Clock, _ found: Findings
    ) -> Activity {
        let name = NamePlan(index: plan.names.count, initial: 0, pool: 0, first: 0, stages: [], isStarted: true)
        return Activity(name, plan, gateways, pushes, clock, found)
    }

    // MARK: Devices

    func answerAll(_ controlURL: String) async {
        guard plan.isStarted, let tokens = startTokens else { return }
        var random = SeededRandom(run.seed, "answers of \(plan.index)")
        while clock.now < run.milliseconds {
            for (place, card) in cards.sorted(by: { $0.key < $1.key }) where card.due == nil {
                guard await hasCome(card.start, to: tokens.id(place), controlURL) else { continue }
                // Most devices report before the next end, and some after it.
                let delay = random.chance(0.8) ? random.number(0...5_000) : random.number(5_000...30_000)
                if cards[place]?.start == card.start { cards[place]?.due = clock.now + delay }
            }
            let due = cards.filter { $0.value.due.map { $0 <= clock.now } ?? false }
            if !due.isEmpty {
                for place in due.keys { cards[place] = nil }
                answering = Set(due.values.map(\.start))
                do { try await reportTokens(due.mapValues(\.start)) } catch {
                    found.note(.undecided, "\(plan.name): tokens of started cards: \(error)")
                }
                answering = []
            }
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    private func reportTokens(_ cards: [Int: Int]) async throws {
        var random = SeededRandom(run.seed, "tokens of \(number)")
        let chosen = cards.keys.sorted()
        try await register(chosen, at: clock.now, &random, startedBy: cards)
        // After repeated starts it is unknown which one the token belongs to, so only pushes newer than all
        // of them are required.
        for place in chosen where places[place].startedBy != nil {
            places[place].startedBy = starts.last { covers($0.audience, place) }?.number
        }
    }

    private func hasCome(_ start: Int, to token: TokenID, _ controlURL: String) async -> Bool {
        let request = HTTPRequest("GET", controlURL + "/tokens/" + Tokens.hex(token), timeout: .seconds(2))
        guard let response = try? await HTTPClient().send(request), response.status == 200 else { return false }
        return Request.history(response.body).contains { $0.reached && $0.order == start }
    }
}
