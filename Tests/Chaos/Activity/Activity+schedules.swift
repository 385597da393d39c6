import Foundation

/// Updates that wait for their times.
///
/// Nothing else is published under the name until all of them are sent. So the order of their times is the
/// order of their numbers.
extension Activity {
    struct Made {
        var id: String
        var number: Int
        var due: Int64
        var change: Scheduled.Change
    }

    func schedule(_ entries: [Scheduled], _ publish: Publish, _ seed: UInt64) async throws {
        var random = SeededRandom(seed, "schedules")
        let first = Clock.epoch + Int64(random.number(3_000...6_000))
        let numbered = entries.map { entry in
            number += 1
            return Made(id: "", number: number, due: first + Int64(entry.delay), change: entry.change)
        }
        let shuffled = numbered.shuffled(using: &random)
        let calls = random.chance(0.5) ? [shuffled] : shuffled.map { [$0] }
        var made: [Made] = []
        for entries in calls { made += try await make(entries, publish) }
        made.sort { $0.number < $1.number }
        for entry in made {
            if case .replaced = entry.change { try await replace(entry, publish) }
            if case .deleted = entry.change { try await delete(entry) }
        }
        // A publisher without an answer repeats its call. A schedule that was replaced or deleted meanwhile stays so.
        if random.chance(0.4), run.actions.contains(.scheduleRepeats) {
            for entries in calls { try await makeAgain(entries, made, publish) }
        }
        // The order of the times is certain only if all schedules exist before the first time.
        let isOrdered = Clock.epoch < first
        for entry in made {
            guard case .deletedLate(let by) = entry.change else { continue }
            let left = entry.due + Int64(by) - Clock.epoch
            if left > 0 { try await Task.sleep(for: .milliseconds(left)) }
            try await delete(entry)
        }
        for entry in made where pushes.find(entry.id)?.fate == .kept {
            try await sent(entry, mayBeRefused: !isOrdered)
            if !isOrdered { pushes.mark(entry.id, .unordered) }
        }
        if !isOrdered { _ = try await publishPlain(Publish(audience: .all)) }
    }

    /// Schedules an update for all, and waits until the caller publishes beside it.
    /// - Parameter due: the schedule's time, in milliseconds after the return.
    func scheduleBeside(_ due: Int) async throws -> Made {
        number += 1
        let entry = Made(id: "", number: number, due: Clock.epoch + 1_500, change: .none)
        let made = try await make([entry], Publish(audience: .all))[0]
        pushes.mark(made.id, .raced)
        let left = made.due - Int64(due) - Clock.epoch
        if left > 0 { try await Task.sleep(for: .milliseconds(left)) }
        return made
    }

    /// Waits until a schedule is sent or refused. It must be decided before anything opens the name, because an open
    /// name would take it behind newer pushes.
    func settled(_ entry: Made) async throws {
        for _ in 0..<Self.looks {
            let answer = try await gateways.call("GET", "/api/schedules/\(entry.id)")
            let state = answer.json["state"] as? String
            if state == "sent" || state == "failed" { return }
            if state != "scheduled" {
                found.note(.schedules, "\(plan.name): \(entry.number) is \(state ?? "gone"): \(answer.text)")
                return
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw ChaosFailure("the schedule \(entry.id) was not decided for a quarter of an hour")
    }

    /// Creates schedules. Those that will be replaced or deleted get a time that does not come before that.
    private func make(_ entries: [Made], _ publish: Publish) async throws -> [Made] {
        let answer = try await create(entries, publish)
        let ids = answer.json["schedule_ids"] as? [String] ?? []
        guard answer.status == 201, ids.count == entries.count else {
            found.note(.schedules, "\(plan.name): \(entries.count) schedules: \(answer.status) \(answer.text)")
            throw ChaosFailure("schedules were answered \(answer.status)")
        }
        return zip(ids, entries).map { id, entry in
            var entry = entry
            entry.id = id
            // A scheduled push is accepted at its time, so channels that follow before that must be reached.
            pushes.add(
                Push(
                    id: id, name: plan.index, number: entry.number, isEnd: false,
                    mayBeReplaced: !publish.hasAlert && publish.mayBeReplaced, audience: publish.audience,
                    asked: entry.due, underWay: entry.due))
            return entry
        }
    }

    private func create(_ entries: [Made], _ publish: Publish) async throws -> Gateways.Answer {
        let bodies = entries.map { entry in
            switch entry.change {
            case .replaced, .deleted: body(-entry.number, due: entry.due + 300_000, publish)
            case .none, .deletedLate: body(entry.number, due: entry.due, publish)
            }
        }
        let key = "\(run.seed)/\(plan.index)/schedule/\(entries[0].number)"
        return try await gateways.call(
            "POST", "/api/schedules", "[" + bodies.joined(separator: ",") + "]", headers: [("Idempotency-Key", key)])
    }

    private func makeAgain(_ entries: [Made], _ made: [Made], _ publish: Publish) async throws {
        let answer = try await create(entries, publish)
        let ids = answer.json["schedule_ids"] as? [String] ?? []
        let before = entries.map { entry in made.first { $0.number == entry.number }?.id ?? "" }
        if answer.status != 201 || ids != before {
            found.note(.keys, "\(plan.name): schedules \(before), repeated \(answer.status) \(ids): \(answer.text)")
        }
    }

    private func body(_ number: Int, due: Int64, _ publish: Publish) -> String {
        // Foundation cuts fractions of a second, so 0.464 would come out as 0.463, another schedule's time.
        let second = Date(timeIntervalSince1970: Double(due / 1_000)).formatted(.iso8601)
        let time = "\(second.dropLast()).\(String(due % 1_000 + 1_000).dropFirst())Z"
        let push = object(
            number, event: "update", audience: publish.audience, priority: publish.priority, hasAlert: publish.hasAlert,
            mayBeReplaced: publish.mayBeReplaced)
        return #"{"name":"\#(number)","schedule":{"scheduled_time":"\#(time)"},"push":\#(push)}"#
    }

    private func replace(_ entry: Made, _ publish: Publish) async throws {
        // Replace it even if its time is past: the gateway accepts a time up to a minute ago.
        let answer = try await gateways.call(
            "PUT", "/api/schedules/\(entry.id)", body(entry.number, due: entry.due, publish))
        // A repeated call may find that the push was sent already.
        if answer.status != 200 && answer.attempts == 1 {
            found.note(.schedules, "\(plan.name): replacing \(entry.number): \(answer.status) \(answer.text)")
        }
    }

    private func delete(_ entry: Made) async throws {
        let answer = try await gateways.call("DELETE", "/api/schedules/\(entry.id)")
        if answer.status == 204 {
            pushes.mark(entry.id, .deleted)
        } else if answer.status != 409 {
            found.note(.schedules, "\(plan.name): deleting \(entry.number): \(answer.status) \(answer.text)")
        }
    }

    /// - Parameter mayBeRefused: a schedule that was made late may have gone out before it, and counts as newer.
    private func sent(_ entry: Made, mayBeRefused: Bool) async throws {
        for _ in 0..<Self.looks {
            let answer = try await gateways.call("GET", "/api/schedules/\(entry.id)")
            let state = answer.json["state"] as? String
            if state == "sent" || mayBeRefused && state == "failed" { return }
            if state != "scheduled" {
                found.note(.schedules, "\(plan.name): \(entry.number) is \(state ?? "gone"): \(answer.text)")
                pushes.mark(entry.id, .deleted)
                return
            }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw ChaosFailure("the schedule \(entry.id) was not sent for a quarter of an hour")
    }
}
