import Foundation

/// Compares what FCM and phones got with the accepted pushes. Devices on iOS that follow the same names are judged too.
struct AndroidJudge: Sendable {
    struct Name: Sendable {
        var plan: AndroidPlan.Name
        var sent: [AndroidName.Sent]
        var devices: [AndroidName.Devices]
        var token: @Sendable (Int, Int) -> String

        func push(_ number: Int?) -> AndroidName.Sent? {
            number.flatMap { sent.indices.contains($0 - 1) ? sent[$0 - 1] : nil }
        }
    }

    /// The numbers of the Android part.
    struct Tally: Sendable {
        var pushes = 0
        var requests = 0
        var accepted = 0
        var delivered = 0
        /// Messages that FCM took twice, and how many faults explain.
        var duplicates = 0
        var duplicatesAllowed = 0
        var addresses = 0
        /// The longest time, ms, in which a phone had an older state than the newest accepted one.
        var latest: Int64 = 0
        /// Late on the wire, of the killed and suspended.
        var late = 0
        /// Phones whose state nobody can know.
        var unclear = 0

        /// For the report.
        var numbers: [(name: String, value: Int)] {
            [
                ("Android: pushes", pushes), ("Android: requests at FCM", requests),
                ("Android: accepted by FCM", accepted), ("Android: delivered by the ledgers", delivered),
                ("Android: addresses", addresses), ("Android: twice", duplicates),
                ("Android: twice, explained at most", duplicatesAllowed), ("Android: late on the wire", late),
                ("Android: phones nobody can know", unclear),
                ("Android: ms after which the last phone had a state", Int(latest)),
            ]
        }
    }

    /// A message may leave for an old address this long (ms) after the newer one was answered, because its page was
    /// read before.
    static let openLongest = Int64(5 * Plan.requestTimeout)

    let plan: Plan
    let names: [Name]
    let phones: [Phones.Phone]
    let pushes: Pushes
    let histories: FCMHistories
    let interruptions: [Disturber.Interruption]
    /// The leases of these names that ran out.
    let leasesLost: Int
    let controlURL: String
    let found: Findings

    func judge() async throws -> Tally {
        var tally = Tally()
        for phone in phones {
            if phone.isUnclear { tally.unclear += 1 }
            judgeAddresses(phone, &tally)
            for name in names where phone.number < name.plan.phones { judge(phone, name, &tally) }
        }
        for name in names {
            judgeSeconds(name)
            try await judgeDevices(name, &tally)
            for push in name.sent { judgeLedger(push, name) }
        }
        judgeCounts(&tally)
        return tally
    }

    // MARK: Phones

    private func judge(_ phone: Phones.Phone, _ name: Name, _ tally: inout Tally) {
        for address in Set(phone.addresses.map(\.generation)).sorted() {
            let words = { "phone \(phone.number) at its address \(address), chaos-\(name.plan.index)" }
            let messages = histories.messages(phone.text(address), name.plan.index)
            judgeOrder(messages.map(\.request), words, &tally)
            judgeWanted(phone, name, messages, words)
            let card = histories.addresses[phone.text(address)]?.cards["chaos-\(name.plan.index)"]
            if let card, card.backwards > 0 {
                let text = "\(words()) showed an older state \(card.backwards) times"
                found.note(.backwards, "\(text)\n    \(Self.words(messages))")
            }
        }
        guard let following = phone.following[name.plan.index]?.last, !phone.isUnclear, !mayLose(following.answered)
        else { return }
        if let ended = following.ended {
            let messages = histories.messages(phone.text(ended.generation), name.plan.index)
            let ends = messages.filter { $0.request.reached && $0.request.isEnd }
            if !ends.contains(where: { $0.request.order == ended.number }) {
                found.note(.endLost, "\(phone.number) of chaos-\(name.plan.index), \(ended): \(Self.words(messages))")
            }
        } else if following.until == nil, let address = phone.address, !address.isDead, !mayLose(address.answered) {
            judgeShown(phone, name, following, address, &tally)
        }
    }

    /// Checks that the phone has the newest push since it follows with this address, and had each one in time.
    private func judgeShown(
        _ phone: Phones.Phone, _ name: Name, _ following: Phones.Following, _ address: Phones.Address,
        _ tally: inout Tally
    ) {
        let since = max(following.answered, address.answered)
        let text = phone.text(address.generation)
        let due = name.sent.filter { $0.targets.hasAndroid && $0.asked > since && $0.event != "end" }
        guard let newest = due.last else { return }
        let messages = histories.messages(text, name.plan.index)
        let words = {
            "phone \(phone.number) at its address \(address.generation), chaos-\(name.plan.index), follows since \(since)"
        }
        let got = messages.filter(\.request.reached).compactMap(\.request.order).max() ?? 0
        let ledger = { self.pushes.find(newest.id)?.ledger?.text ?? "none" }
        if got < newest.number {
            let text = "\(words()), has \(got), not \(newest.number)"
            found.note(.lost, "\(text)\n    \(Self.words(messages))\n    \(ledger())")
        }
        let card = histories.addresses[text]?.cards["chaos-\(name.plan.index)"]
        let update = due.last { $0.event == "update" }?.number ?? 0
        if let card, card.isActive, (card.shown ?? 0) < update {
            found.note(.lost, "\(words()), shows \(card.shown ?? 0), not \(update)\n    \(Self.words(messages))")
        }
        judgeLate(due, messages, oldest: histories.addresses[text]?.oldest ?? 0, words, &tally)
    }

    private func judgeLate(
        _ due: [AndroidName.Sent], _ messages: [FCMHistories.Message], oldest: Int64, _ words: () -> String,
        _ tally: inout Tally
    ) {
        for push in due where push.asked > oldest {
            let arrival = messages.first { $0.request.reached && ($0.request.order ?? 0) >= push.number }
            guard let arrival else { continue }
            let after = arrival.request.at - push.asked
            tally.latest = max(tally.latest, after)
            let isHealthy = messages.allSatisfy {
                $0.request.status != nil || !(push.asked...arrival.request.at).contains($0.request.at)
            }
            if after > plan.late, isHealthy {
                found.note(.late, "\(words()), had \(push.number) or a newer one \(after) ms after its 202")
            }
        }
    }

    /// Checks that the phone followed the name for each message. A start goes to all.
    private func judgeWanted(
        _ phone: Phones.Phone, _ name: Name, _ messages: [FCMHistories.Message], _ words: () -> String
    ) {
        let all = phone.following[name.plan.index] ?? []
        if phone.isUnclear || all.contains(where: { mayLose($0.answered) || $0.until.map(mayLose) ?? false }) { return }
        for message in messages where !message.isStart {
            guard let number = message.request.order, let push = name.push(number) else { continue }
            let isWanted = all.contains { following in
                if let ended = following.ended { return number > following.floor && number <= ended.number }
                return number > following.floor && push.asked <= following.until ?? .max
            }
            if !isWanted, !isOnTheWire(message.request) {
                found.note(.unwanted, "\(words()), \(all): got \(number)\n    \(Self.words(messages))")
            }
        }
    }

    /// Checks that an address got nothing after a newer one, or none, was answered.
    private func judgeAddresses(_ phone: Phones.Phone, _ tally: inout Tally) {
        if phone.isUnclear { return }
        for (generation, uses) in Dictionary(grouping: phone.addresses, by: \.generation) {
            guard let until = uses.last?.until, !mayLose(until) else { continue }
            let messages = histories.addresses[phone.text(generation)]?.messages ?? []
            for message in messages where message.request.at > until {
                let name = names.first { "chaos-\($0.plan.index)" == message.name }
                let isNew = name?.push(message.request.order).map { $0.asked > until } ?? false
                guard isNew || message.arrived > until + Self.openLongest else { continue }
                if isOnTheWire(message.request), !isNew {
                    tally.late += 1
                    continue
                }
                found.note(
                    .unwanted,
                    "phone \(phone.number): its address \(generation) was gone at \(until), and got"
                        + " \(message.name ?? "")/\(message.request.order ?? 0)\n    \(Self.words(messages))")
            }
        }
    }

    // MARK: Order

    private func judgeOrder(_ history: [Request], _ words: () -> String, _ tally: inout Tally) {
        var newest = 0
        for request in history where request.reached {
            guard let number = request.order else { continue }
            if number < newest {
                if isOnTheWire(request) {
                    tally.late += 1
                } else {
                    found.note(.backwards, "\(words()): \(number) after \(newest)\n    \(Request.words(history))")
                }
            }
            newest = max(newest, number)
        }
    }

    /// Checks that the seconds of a name rise with its pushes, on all phones.
    private func judgeSeconds(_ name: Name) {
        var seconds: [Int: ClosedRange<Int>] = [:]
        for address in histories.addresses.values {
            for message in address.messages where message.name == "chaos-\(name.plan.index)" {
                guard let number = message.request.order, let second = message.second else { continue }
                let known = seconds[number] ?? second...second
                seconds[number] = min(known.lowerBound, second)...max(known.upperBound, second)
            }
        }
        var before: (number: Int, seconds: ClosedRange<Int>)?
        for (number, range) in seconds.sorted(by: { $0.key < $1.key }) {
            if let before, before.seconds.upperBound >= range.lowerBound {
                found.note(
                    .seconds, "chaos-\(name.plan.index): \(number) has \(range), \(before.number) has \(before.seconds)"
                )
            }
            before = (number, range)
        }
    }

    // MARK: Devices on iOS

    private func judgeDevices(_ name: Name, _ tally: inout Tally) async throws {
        for devices in name.devices where !mayLose(devices.answered) {
            let due = name.sent.last {
                $0.targets.hasIOS && $0.asked > devices.answered && $0.number <= devices.end ?? .max
            }
            for place in 0..<name.plan.devices {
                let url = controlURL + "/tokens/" + name.token(place, devices.life)
                let history = Request.history((try? await Record.get(url)) ?? [])
                let words = { "chaos-\(name.plan.index): device \(place) on iOS, life \(devices.life)" }
                judgeOrder(history, words, &tally)
                let got = history.filter(\.reached).compactMap(\.order).max() ?? 0
                let next = devices.end.map { $0 + 1 } ?? .max
                if got < due?.number ?? 0 || got >= next {
                    found.note(
                        got >= next ? .afterEnd : .lost,
                        "\(words()) has \(got), not \(due?.number ?? 0)\n    \(Request.words(history))")
                }
            }
        }
    }

    // MARK: Words

    func isOnTheWire(_ request: Request) -> Bool { interruptions.contains { $0.explains(request) } }
    func mayLose(_ answered: Int64) -> Bool { interruptions.contains { $0.mayLose(answered: answered) } }

    static func words(_ messages: [FCMHistories.Message]) -> String { Request.words(messages.map(\.request)) }
}
