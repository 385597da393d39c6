import Foundation

extension Activity {
    func publish(_ publish: Publish) async throws {
        if publish.isStart { try await prepareStart(publish.audience) }
        let key = number + 1
        let answer = try await send(
            event: publish.isStart ? "start" : "update", audience: publish.audience, priority: publish.priority,
            hasAlert: publish.hasAlert, mayBeReplaced: publish.mayBeReplaced)
        guard let answer else {
            found.note(.refused, "\(plan.name): publish \(key) was refused although the name is open")
            return
        }
        if publish.isStart { begun(key, answer.id) }
        guard publish.isRepeated else { return }
        let again = try await gateways.call(
            "POST", "/api/push", answer.body, headers: [("Idempotency-Key", answer.key)])
        let id = (again.json["push_ids"] as? [String])?.first
        if again.status != 202 || id != answer.id {
            found.note(
                .keys, "\(plan.name): publish \(key) was \(answer.id), repeated \(again.status) \(id ?? again.text)")
        }
    }

    struct Accepted: Sendable {
        var id: String
        var key: String
        var body: String
    }

    /// Nil: refused with 409, and so not published.
    func send(
        event: String, audience: Audience, priority: Int = 10, hasAlert: Bool = false, mayBeReplaced: Bool = true
    ) async throws -> Accepted? {
        number += 1
        let mine = number
        let alert = hasAlert ? #","alert":{"title":"Chaos","body":"\#(mine)"}"# : ""
        let options = mayBeReplaced ? "" : #","options":{"conflate":false}"#
        let start =
            event == "start" ? #","attributes_type":"\#(Plan.attributesType)","attributes":{"n":\#(plan.index)}"# : ""
        let body =
            #"{"audience":\#(json(audience)),"device_types":["ios"],"notification":{"ios":{"live_activity":{"#
            + #""name":"\#(plan.name)","event":"\#(event)","priority":\#(priority),"#
            + #""content_state":{"n":\#(mine),"push":"\#(plan.name)/\#(mine)"}\#(alert)\#(start)}}}\#(options)}"#
        let key = "\(run.seed)/\(plan.name)/\(mine)"
        let asked = Clock.epoch
        let answer = try await gateways.call("POST", "/api/push", body, headers: [("Idempotency-Key", key)])
        if answer.status == 409 { return nil }
        guard answer.status == 202, let id = (answer.json["push_ids"] as? [String])?.first else {
            found.note(.refused, "\(plan.name): publish \(mine): \(answer.status) \(answer.text)")
            throw ChaosFailure("publish \(mine) was answered \(answer.status)")
        }
        pushes.add(
            Push(
                id: id, name: plan.index, number: mine, isEnd: event == "end", isStart: event == "start",
                audience: audience, asked: asked, underWay: asked))
        return Accepted(id: id, key: key, body: body)
    }

    private func json(_ audience: Audience) -> String {
        switch audience {
        case .all: #""all""#
        case .tagA: #"{"tag":"a"}"#
        case .tagB: #"{"tag":"b"}"#
        case .both: #"{"and":[{"tag":"a"},{"tag":"b"}]}"#
        case .either: #"{"or":[{"tag":"a"},{"tag":"b"}]}"#
        case .notA: #"{"not":{"tag":"a"}}"#
        case .channel(let place): #"{"ios_channel":"\#(channel(place))"}"#
        }
    }

    /// Nothing else happens to the name meanwhile.
    func end(_ planned: Planned<End>) async throws {
        let end = planned.what
        let audience = end.audience
        if plan.isStarted { try await overtakeStarts(waits: end.waits) }
        guard let accepted = try await send(event: "end", audience: audience) else {
            found.note(.refused, "\(plan.name): the end was refused although the name is open")
            return
        }
        let ended = number
        ends.append((ended, audience, Clock.epoch))
        for place in places.indices where places[place].state == .following && covers(audience, place) {
            self.ended.append((token(place), ended, places[place].after))
            places[place].state = .ended(ended)
        }
        guard audience == .all else { return }
        isEnded = true
        if end.isTested, try await send(event: "update", audience: .all) != nil {
            found.note(.endIgnored, "\(plan.name): update \(number) was taken after the end \(ended)")
        }
        var random = SeededRandom(planned.seed)
        switch end.reopens {
        case .never: return
        case .others where places.contains { $0.state == .out }:
            try await register(pick(max(1, plan.initial / 10), .out, &random), at: planned.at, &random)
        case .others, .same:
            // Not before it has arrived: a device begins anew only when its activity is over.
            try await waitForEnd(of: accepted.id)
            let places = places.indices.filter { self.places[$0].state == .ended(ended) }
            try await register(places, at: planned.at, &random)
        }
        isEnded = places.allSatisfy { $0.state != .following }
    }

    func waitForEnd(of push: String) async throws {
        for _ in 0..<600 {
            if try await pushes.look(push)?.isFinal == true { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw ChaosFailure("the push \(push) was not over after two minutes")
    }
}
