import Foundation

/// The Android phones of a run: their addresses, and the names that they follow.
///
/// A call has the phone's time where the API takes one. A PUT of a channel has none, so a repeated one may arrive late,
/// from a suspended gateway: such a phone is unclear from then on, and changes no more.
actor Phones {
    struct Address: Sendable {
        var generation: Int
        /// Epoch ms of the answer that told it, and of the answer that replaced or took it.
        var answered = Int64.max
        var until: Int64?
        var isDead = false
    }

    struct Following: Sendable {
        /// The number of the name's last end before. Nothing up to there is for this card.
        var floor: Int
        /// Epoch ms of the answers to its beginning and its end.
        var answered: Int64
        var until: Int64?
        /// The number of the end that ended it, and the address at that time.
        var ended: (number: Int, generation: Int)?
    }

    struct Phone: Sendable {
        var number: Int
        var addresses: [Address]
        var following: [Int: [Following]] = [:]
        var isUnclear = false
        /// The phone is in the middle of a change.
        fileprivate var isBusy = false
        fileprivate var last: Int64 = 0

        var address: Address? { addresses.last.flatMap { $0.until == nil ? $0 : nil } }
        func follows(_ name: Int) -> Bool { following[name]?.last.map { $0.until == nil && $0.ended == nil } ?? false }
        func text(_ generation: Int) -> String { Phones.text(number, generation) }
    }

    /// An end of a name waits for its turn, because phones do not change while an end is sent.
    let turn = Turn()
    private(set) var phones: [Phone]
    private let gateways: Gateways
    private let disturber: Disturber
    private let found: Findings

    init(_ count: Int, _ gateways: Gateways, _ disturber: Disturber, _ found: Findings) {
        phones = (0..<count).map { Phone(number: $0, addresses: [Address(generation: 1)]) }
        self.gateways = gateways
        self.disturber = disturber
        self.found = found
    }

    static func channel(_ number: Int) -> String { "droid-\(number)" }
    static func prefix(_ number: Int, _ generation: Int) -> String { "p\(number)g\(generation):" }
    static func text(_ number: Int, _ generation: Int) -> String {
        prefix(number, generation) + "APA91b" + String(repeating: "x", count: 120)
    }
    static func path(_ name: Int) -> String { "/api/activities/chaos-\(name)/channels" }

    // MARK: Names

    /// Lets the first phones follow a name, except the phones that follow it or have no address. Call it in turn.
    /// - Parameters:
    ///   - floor: the number of the name's last end
    ///   - tells: whether the lines tell the addresses too
    func follow(_ name: AndroidPlan.Name, floor: Int, tells: Bool = false) async throws {
        let chosen = phones.indices.prefix(name.phones).filter {
            !phones[$0].follows(name.index) && phones[$0].address?.isDead == false && !phones[$0].isUnclear
        }
        if chosen.isEmpty { return }
        try await pause(chosen)
        let lines = chosen.map { phone in
            let rest = body(phone, token: tells ? phones[phone].address?.generation : nil)
            return #"{"channel":"\#(Self.channel(phone))",\#(rest)}"# + "\n"
        }
        let answer = try await gateways.call("POST", Self.path(name.index), lines.joined(), timeout: .seconds(10))
        if answer.status != 200 || answer.json["rejected_count"] as? Int != 0 {
            found.note(.refused, "chaos-\(name.index): \(chosen.count) phones: \(answer.status) \(answer.text)")
        }
        let now = Clock.epoch
        for phone in chosen {
            if tells { phones[phone].addresses[0].answered = now }
            phones[phone].following[name.index, default: []].append(Following(floor: floor, answered: now))
        }
    }

    /// Notes that an end reached all followers of the name that have an address. The others follow on. Call it in turn.
    func noteEnd(_ name: Int, _ number: Int) {
        for phone in phones.indices where phones[phone].follows(name) {
            guard let address = phones[phone].address, !address.isDead else { continue }
            let last = phones[phone].following[name, default: []].count - 1
            phones[phone].following[name]?[last].ended = (number, address.generation)
        }
    }

    // MARK: Changes

    func change(_ planned: Planned<AndroidPlan.Change>) async throws {
        var random = SeededRandom(planned.seed)
        switch planned.what {
        case .rotate(let count, let oldDies):
            for phone in pick(count, &random) {
                try await inTurn(phone) {
                    if oldDies { await self.kill(phone) }
                    try await self.tell(phone, isNew: true, &random)
                }
            }
        case .suspend(let count, let length):
            for phone in pick(count, &random) {
                phones[phone].isBusy = true
                try await inTurn(phone) { try await self.suspend(phone) }
                try? await Task.sleep(for: .milliseconds(length))
                try await inTurn(phone) { try await self.tell(phone, isNew: random.chance(0.7), &random) }
                phones[phone].isBusy = false
            }
        case .die(let count, let back):
            for phone in pick(count, &random) {
                phones[phone].isBusy = true
                try await inTurn(phone) { await self.kill(phone) }
                guard let back else { continue }
                try? await Task.sleep(for: .milliseconds(back))
                try await inTurn(phone) { try await self.tell(phone, isNew: true, &random) }
                phones[phone].isBusy = false
            }
        case .unfollow(let count):
            for phone in pick(count, &random) { try await inTurn(phone) { try await self.unfollow(phone, &random) } }
        }
    }

    private func pick(_ count: Int, _ random: inout SeededRandom) -> [Int] {
        // The first phones follow all names.
        let most = random.chance(0.5) ? 24 : phones.count
        let all = phones.indices.prefix(most).filter { !phones[$0].isBusy && !phones[$0].isUnclear }
        return Array(all.shuffled(using: &random).prefix(count))
    }

    private func inTurn(_ phone: Int, _ body: () async throws -> Void) async throws {
        await turn.take()
        do {
            try await pause([phone])
            if !phones[phone].isUnclear { try await body() }
        } catch {
            await turn.give()
            throw error
        }
        await turn.give()
    }

    private func kill(_ phone: Int) async {
        guard let address = phones[phone].address else { return }
        phones[phone].addresses[phones[phone].addresses.count - 1].isDead = true
        await disturber.killAddress(Self.prefix(phone, address.generation))
    }

    /// Tells the phone's address: with a name that it follows, in a line of many, or with its channel.
    private func tell(_ phone: Int, isNew: Bool, _ random: inout SeededRandom) async throws {
        let generation = (phones[phone].addresses.last?.generation ?? 0) + (isNew ? 1 : 0)
        let channel = Self.channel(phone)
        let name = phones[phone].following.keys.sorted().last { phones[phone].follows($0) }
        let answer: Gateways.Answer
        switch (name, random.number(0...2)) {
        case (let name?, 0):
            answer = try await gateways.call(
                "PUT", Self.path(name) + "/" + channel, "{\(body(phone, token: generation))}")
        case (let name?, 1):
            let line = #"{"channel":"\#(channel)",\#(body(phone, token: generation))}"#
            answer = try await gateways.call("POST", Self.path(name), line + "\n")
        default:
            let address = #""push_address":"\#(Self.text(phone, generation))","android":{"delivery_type":"fcm"}"#
            answer = try await put(phone, #","opt_in":true,\#(address)"#)
        }
        if answer.status != 200 {
            found.note(.refused, "the address \(generation) of phone \(phone): \(answer.status) \(answer.text)")
        }
        let now = noteAddressGone(phone)
        let isDead = phones[phone].addresses.contains { $0.generation == generation && $0.isDead }
        phones[phone].addresses.append(Address(generation: generation, answered: now, isDead: isDead))
    }

    private func suspend(_ phone: Int) async throws {
        let answer = try await put(phone, #","opt_in":true"#)
        if answer.status != 200 {
            found.note(.refused, "phone \(phone) without an address: \(answer.status) \(answer.text)")
        }
        noteAddressGone(phone)
    }

    private func put(_ phone: Int, _ rest: String) async throws -> Gateways.Answer {
        let answer = try await gateways.call(
            "PUT", "/api/channels/\(Self.channel(phone))", #"{"channel":{"device_type":"android"\#(rest)}}"#)
        if answer.attempts > 1 { phones[phone].isUnclear = true }
        return answer
    }

    @discardableResult
    private func noteAddressGone(_ phone: Int) -> Int64 {
        let now = Clock.epoch
        if phones[phone].address != nil { phones[phone].addresses[phones[phone].addresses.count - 1].until = now }
        return now
    }

    private func unfollow(_ phone: Int, _ random: inout SeededRandom) async throws {
        let names = phones[phone].following.keys.sorted().filter { phones[phone].follows($0) }
        guard let name = names.randomElement(using: &random) else { return }
        let removal = #"{"action":"remove","name":"chaos-\#(name)","action_ts_ms":\#(time(phone))}"#
        let answer = try await gateways.call(
            "PUT", "/api/channels/sdk/batch/\(Self.channel(phone))?platform=android",
            #"{"live_updates":[\#(removal)]}"#)
        if answer.status != 200 || answer.json["problems"] != nil {
            found.note(.refused, "phone \(phone) leaves chaos-\(name): \(answer.status) \(answer.text)")
        }
        let last = phones[phone].following[name, default: []].count - 1
        phones[phone].following[name]?[last].until = Clock.epoch
    }

    private func body(_ phone: Int, token generation: Int?) -> String {
        let token = generation.map { #","token":"\#(Self.text(phone, $0))""# } ?? ""
        return #""platform":"android","registered_at_ms":\#(time(phone))\#(token)"#
    }

    private func time(_ phone: Int) -> Int64 {
        phones[phone].last = max(phones[phone].last + 1, Clock.epoch)
        return phones[phone].last
    }

    /// Waits until 250 ms after the last change of each phone. Gateways know Redis's clock only to some milliseconds.
    private func pause(_ chosen: [Int]) async throws {
        let left = chosen.map { phones[$0].last + 250 - Clock.epoch }.max() ?? 0
        if left > 0 { try await Task.sleep(for: .milliseconds(left)) }
        for phone in chosen { phones[phone].last = Clock.epoch }
    }
}
