import Foundation

/// One name with followers on Android, and the devices on iOS that follow it too.
actor AndroidName {
    struct Sent: Sendable {
        var id: String
        var number: Int
        var event: String
        var targets: AndroidPlan.Targets
        /// Epoch ms before its first request.
        var asked: Int64
        var mayBeReplaced: Bool
    }

    /// The devices on iOS of one life. None of them changes.
    struct Devices: Sendable {
        var life: Int
        var answered: Int64
        /// The number of the end for them.
        var end: Int?
    }

    let plan: AndroidPlan.Name
    private let seed: UInt64
    private let gateways: Gateways
    private let pushes: Pushes
    private let phones: Phones
    private let clock: Clock
    private let found: Findings
    private(set) var sent: [Sent] = []
    private(set) var devices: [Devices] = []
    private var number = 0
    private var lastEnd = 0
    private(set) var isOpen = false

    init(
        _ plan: AndroidPlan.Name, _ seed: UInt64, _ gateways: Gateways, _ pushes: Pushes, _ phones: Phones,
        _ clock: Clock, _ found: Findings
    ) {
        (self.plan, self.seed, self.gateways, self.pushes) = (plan, seed, gateways, pushes)
        (self.phones, self.clock, self.found) = (phones, clock, found)
    }

    /// A token of a device on iOS. The judge of the other names takes it for a stranger's.
    nonisolated func token(_ place: Int, _ life: Int) -> String {
        let text = "22" + [plan.index, place, life].map { String($0 + 0x10000, radix: 16).suffix(4) }.joined()
        return text + String(repeating: "5a", count: (128 - text.count) / 2)
    }

    func live() async {
        for (number, life) in plan.lives.enumerated() {
            await clock.sleep(until: life.start)
            await decided("start") { try await self.begin(number) }
            for planned in life.updates {
                await clock.sleep(until: planned.at)
                await decided("update") {
                    _ = try await self.send(
                        "update", planned.what.targets, mayBeReplaced: planned.what.mayBeReplaced,
                        priority: planned.what.priority)
                }
            }
            guard let end = life.end else { continue }
            await clock.sleep(until: end)
            await decided("end") { try await self.end() }
        }
    }

    private func decided(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch { found.note(.undecided, "chaos-\(plan.index): \(what): \(error)") }
    }

    /// A start makes the cards, and then each phone says that it follows. Phones do not change in between, because an
    /// end is for a card that a start made, also if its phone says so later.
    private func begin(_ life: Int) async throws {
        try await addDevices(life)
        try await inTurn {
            try await self.over(try await self.send("start", .android))
            try await self.phones.follow(self.plan, floor: self.lastEnd)
        }
        isOpen = true
    }

    private func inTurn(_ body: () async throws -> Void) async throws {
        await phones.turn.take()
        do { try await body() } catch {
            await phones.turn.give()
            throw error
        }
        await phones.turn.give()
    }

    private func addDevices(_ life: Int) async throws {
        if plan.devices == 0 { return }
        let lines = (0..<plan.devices).map {
            #"{"channel":"ios-\#(plan.index)-\#($0)","token":"\#(token($0, life))"}"# + "\n"
        }
        let answer = try await gateways.call("POST", Phones.path(plan.index), lines.joined(), timeout: .seconds(10))
        if answer.status != 200 || answer.json["rejected_count"] as? Int != 0 {
            found.note(.refused, "chaos-\(plan.index): devices on iOS: \(answer.status) \(answer.text)")
        }
        devices.append(Devices(life: life, answered: Clock.epoch))
    }

    /// Ends the name for both. Phones do not change until the end is over.
    private func end() async throws {
        try await inTurn {
            self.isOpen = false
            let end = try await self.send("end", self.plan.devices == 0 ? .android : .both)
            try await self.over(end)
            self.lastEnd = end.number
            await self.phones.noteEnd(self.plan.index, end.number)
            if !self.devices.isEmpty { self.devices[self.devices.count - 1].end = end.number }
        }
    }

    private func over(_ push: Sent) async throws {
        for _ in 0..<Activity.looks {
            if let ledger = try await pushes.look(push.id), ledger.isOver { return }
            try await Task.sleep(for: .milliseconds(200))
        }
        throw ChaosFailure("the push \(push.id) was not over after a quarter of an hour")
    }

    /// Publishes. A refusal is a finding, because the name is open.
    func send(
        _ event: String, _ targets: AndroidPlan.Targets, mayBeReplaced: Bool = true, priority: Int = 10
    ) async throws -> Sent {
        number += 1
        let mine = number
        let asked = Clock.epoch
        let answer = try await gateways.call(
            "POST", "/api/push", body(mine, event, targets, mayBeReplaced: mayBeReplaced, priority: priority),
            headers: [("Idempotency-Key", "\(seed)/\(plan.index)/\(mine)")])
        guard answer.status == 202, let ids = answer.json["push_ids"] as? [String], let id = ids.first, ids.count == 1
        else {
            found.note(.refused, "chaos-\(plan.index): \(event) \(mine): \(answer.status) \(answer.text)")
            throw ChaosFailure("\(event) \(mine) was answered \(answer.status)")
        }
        let one = Sent(
            id: id, number: mine, event: event, targets: targets, asked: asked,
            mayBeReplaced: event == "update" && mayBeReplaced)
        sent.append(one)
        pushes.add(
            Push(
                id: id, name: plan.index, number: mine, isEnd: event == "end", isStart: event == "start",
                mayBeReplaced: one.mayBeReplaced, audience: .all, asked: asked, underWay: asked))
        return one
    }

    private func body(
        _ number: Int, _ event: String, _ targets: AndroidPlan.Targets, mayBeReplaced: Bool, priority: Int
    ) -> String {
        let state = #""name":"chaos-\#(plan.index)","event":"\#(event)","content_state":{"n":\#(number)}"#
        var parts: [String] = []
        if targets.hasIOS { parts.append(#""ios":{"live_activity":{\#(state),"priority":\#(priority)}}"#) }
        if targets.hasAndroid {
            let word = priority == 10 ? "high" : "normal"
            let type = event == "start" ? #","type":"chaos""# : ""
            parts.append(#""android":{"live_update":{\#(state)\#(type)},"delivery_priority":"\#(word)"}"#)
        }
        let types = (targets.hasIOS ? [#""ios""#] : []) + (targets.hasAndroid ? [#""android""#] : [])
        let options =
            event == "start" ? #","options":{"restart":true}"# : mayBeReplaced ? "" : #","options":{"conflate":false}"#
        return #"{"audience":"all","device_types":[\#(types.joined(separator: ","))],"notification":{"#
            + parts.joined(separator: ",") + "}" + options + "}"
    }
}
