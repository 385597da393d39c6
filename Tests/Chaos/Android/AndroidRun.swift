import Foundation

/// The Android part of a run, beside the other names.
struct AndroidRun: Sendable {
    let plan: Plan
    let android: AndroidPlan
    let names: [AndroidName]
    let phones: Phones
    let pushes: Pushes
    let disturber: Disturber
    let clock: Clock
    let found: Findings
    private let controlURL: String

    /// An app with both platforms has the platform in the audience of each push for one of them, so it is another app
    /// than the one of the other names.
    static let app = "chaos-android"

    /// The settings of both apps.
    /// - Parameter announced: what the simulator says of itself
    static func settings(_ announced: [String: String]) -> String {
        func value(_ key: String) -> String { announced[key] ?? "" }
        let fcm = """

                fcm:
                  service_account_file: \(value("fcm_service_account_file"))
                  url: \(value("fcm_url"))
                  ca_file: \(value("ca_file"))
            """
        let apps = [(Gateways.app, ""), (app, fcm)].map { key, fcm in
            """

              - key: \(key)
                secret: \(Gateways.secret)
                master_secret: \(Gateways.masterSecret)
                bundle_id: com.example.\(key)
                apns:
                  url: \(value("url"))
                  manage_url: \(value("manage_url"))
                  ca_file: \(value("ca_file"))
                  key_file: \(value("key_file"))
                  key_id: \(value("key_id"))
                  team_id: \(value("team_id"))\(fcm)
            """
        }
        return "apps:" + apps.joined() + "\n"
    }

    /// - Returns: nil if the plan has no phones
    init?(_ plan: Plan, _ gateways: Gateways, _ disturber: Disturber, _ clock: Clock, _ found: Findings) {
        guard let android = plan.android else { return nil }
        let gateways = gateways.of(Self.app)
        let pushes = Pushes(gateways, disturber.log)
        let phones = Phones(android.phones, gateways, disturber, found)
        names = android.names.map { AndroidName($0, plan.seed, gateways, pushes, phones, clock, found) }
        (self.plan, self.android, self.phones, self.pushes) = (plan, android, phones, pushes)
        (self.disturber, self.clock, self.found) = (disturber, clock, found)
        controlURL = disturber.controlURL
    }

    /// Tells the addresses of all phones, with the first name.
    func begin() async throws { try await phones.follow(android.names[0], floor: 0, tells: true) }

    func live() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await disturber.disturbFCM(android.faults) }
            for name in names { group.addTask { await name.live() } }
            for planned in android.changes {
                group.addTask {
                    await clock.sleep(until: planned.at)
                    do { try await phones.change(planned) } catch {
                        found.note(.undecided, "phones: \(planned.what): \(error)")
                    }
                }
            }
        }
    }

    func drain() async throws {
        for push in try await pushes.drain(within: .seconds(240), { _ in }) {
            found.note(.ledgers, "\(push.title) never ended: \(push.ledger?.text ?? push.id)")
        }
    }

    /// Judges the run, publishes once more to each open name, and judges that too.
    /// - Parameter leases: the leases that ran out, each with the pushes of its open pages
    func judge(_ leases: [[String]]) async throws -> AndroidJudge.Tally {
        let tally = try await judgement(leases.count).judge()
        var last: [(name: AndroidName, push: AndroidName.Sent)] = []
        for name in names where await name.isOpen {
            let targets: AndroidPlan.Targets = name.plan.devices == 0 ? .android : .both
            last.append((name, try await name.send("update", targets, mayBeReplaced: false)))
        }
        try await drain()
        let judge = try await judgement(leases.count)
        let phones = await phones.phones
        for (name, push) in last { judge.judgeFinal(push, name.plan, phones) }
        return tally
    }

    private func judgement(_ leases: Int) async throws -> AndroidJudge {
        var all: [AndroidJudge.Name] = []
        for name in names {
            all.append(
                AndroidJudge.Name(
                    plan: name.plan, sent: await name.sent, devices: await name.devices,
                    token: { name.token($0, $1) }))
        }
        return AndroidJudge(
            plan: plan, names: all, phones: await phones.phones, pushes: pushes,
            histories: try await FCMHistories.read(controlURL), interruptions: disturber.interruptions,
            leasesLost: leases, controlURL: controlURL, found: found)
    }
}

extension AndroidJudge {
    /// Checks a push that went out when all was well: each phone that follows and has a living address got it, and no
    /// other one. The ledger has exactly these.
    func judgeFinal(_ push: AndroidName.Sent, _ name: AndroidPlan.Name, _ phones: [Phones.Phone]) {
        guard let ledger = pushes.find(push.id)?.ledger else { return }
        var (living, unclear) = (0, 0)
        for phone in phones.prefix(name.phones) {
            let following = phone.following[name.index]?.last
            let mayBeLost =
                (following?.answered).map(mayLose) ?? false || (following?.until).map(mayLose) ?? false
                || phone.addresses.contains { mayLose($0.answered) || $0.until.map(mayLose) ?? false }
            let isReached = phone.addresses.contains { address in
                histories.messages(phone.text(address.generation), name.index).contains {
                    $0.request.reached && $0.request.order == push.number
                }
            }
            if phone.isUnclear || mayBeLost {
                unclear += 1
                continue
            }
            let isWanted = phone.follows(name.index) && phone.address.map { !$0.isDead } ?? false
            living += isWanted ? 1 : 0
            if isReached != isWanted {
                found.note(
                    isWanted ? .wronglyPruned : .unwanted,
                    "phone \(phone.number), chaos-\(name.index), the last push \(push.number): \(phone.addresses)"
                        + "\n    \(ledger.text)")
            }
        }
        let delivered = Self.count("delivered", on: .android, push, ledger)
        if !(living...living + unclear).contains(delivered) {
            found.note(
                .ledgers, "chaos-\(name.index)/\(push.number): \(living) phones, \(unclear) unclear: \(ledger.text)")
        }
    }
}
