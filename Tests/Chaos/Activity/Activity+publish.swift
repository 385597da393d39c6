import Foundation

extension Activity {
    func publish(_ planned: Planned<Publish>) async throws {
        let publish = planned.what
        switch publish.variant {
        case .plain: _ = try await publishPlain(publish)
        case .cancelled(let after): try await publishCancelled(publish, after: after)
        case .scheduled(let entries): try await schedule(entries, publish, planned.seed)
        case .refused(let refusal): try await publishRefused(publish, refusal, planned.seed)
        case .expiring(let seconds): try await publishExpiring(publish, seconds)
        case .besideSchedule(let due):
            let scheduled = try await scheduleBeside(due)
            _ = try await publishPlain(publish)
            try await settled(scheduled)
        }
    }

    /// Publishes a start or an update. Nil if it was refused.
    func publishPlain(_ publish: Publish) async throws -> Accepted? {
        if publish.isStart { try await prepareStart(publish.audience) }
        let key = number + 1
        let answer = try await send(
            event: publish.isStart ? "start" : "update", audience: publish.audience, priority: publish.priority,
            hasAlert: publish.hasAlert, mayBeReplaced: publish.mayBeReplaced)
        guard let answer else {
            found.note(.refused, "\(plan.name): publish \(key) was refused although the name is open")
            return nil
        }
        if publish.isStart { noteAcceptedStart(key, answer.id) }
        guard publish.isRepeated else { return answer }
        let again = try await gateways.call(
            "POST", "/api/push", answer.body, headers: [("Idempotency-Key", answer.key)])
        let id = (again.json["push_ids"] as? [String])?.first
        if again.status != 202 || id != answer.id {
            found.note(
                .keys, "\(plan.name): publish \(key) was \(answer.id), repeated \(again.status) \(id ?? again.text)")
        }
        return answer
    }

    struct Accepted: Sendable {
        var id: String
        var number: Int
        var key: String
        var body: String
    }

    /// Sends a publish. Nil if it was refused with a 409.
    func send(
        event: String, audience: Audience, priority: Int = 10, hasAlert: Bool = false, mayBeReplaced: Bool = true,
        expiry: Int? = nil, hasState: Bool = true
    ) async throws -> Accepted? {
        number += 1
        let mine = number
        let body = object(
            mine, event: event, audience: audience, priority: priority, hasAlert: hasAlert,
            mayBeReplaced: mayBeReplaced, expiry: expiry, hasState: hasState)
        let key = "\(run.seed)/\(plan.index)/\(mine)"
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
                mayBeReplaced: event == "update" && !hasAlert && mayBeReplaced, audience: audience, asked: asked,
                underWay: asked, expires: expiry != nil))
        return Accepted(id: id, number: mine, key: key, body: body)
    }

    /// An `end` without a state carries its number in its dismissal date, as seconds above this value.
    static let dismissal = 2_000_000_000

    /// The push object of a publish.
    func object(
        _ number: Int, event: String, audience: Audience, priority: Int = 10, hasAlert: Bool = false,
        mayBeReplaced: Bool = true, expiry: Int? = nil, hasState: Bool = true
    ) -> String {
        var members = [#""name":"\#(plan.name)""#, #""event":"\#(event)""#, #""priority":\#(priority)"#]
        members.append(
            hasState
                ? #""content_state":{"n":\#(number),"push":"\#(plan.index)/\#(number)"}"#
                : #""dismissal_date":\#(Self.dismissal + number)"#)
        if hasAlert { members.append(#""alert":{"title":"Chaos","body":"\#(number)"}"#) }
        if event == "start" {
            members.append(#""attributes_type":"\#(Plan.attributesType)","attributes":{"n":\#(plan.index)}"#)
        }
        var options: [String] = []
        if !mayBeReplaced { options.append(#""conflate":false"#) }
        if let expiry { options.append(#""expiry":\#(expiry)"#) }
        return
            #"{"audience":\#(json(audience)),"device_types":["ios"],"notification":{"ios":{"live_activity":{"#
            + members.joined(separator: ",") + "}}}"
            + (options.isEmpty ? "" : #","options":{\#(options.joined(separator: ","))}"#) + "}"
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

    /// Waits until the push is over and its ledger is final.
    @discardableResult
    func over(_ push: String) async throws -> Ledger {
        for _ in 0..<Self.looks {
            if let ledger = try await pushes.look(push), ledger.isOver { return ledger }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw ChaosFailure("the push \(push) was not over after a quarter of an hour")
    }
}
