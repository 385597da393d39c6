import Foundation

/// One run: start everything, follow the plan, end the faults, drain everything, and judge the record.
struct Run: Sendable {
    let plan: Plan
    let directory: String
    let program: String
    let oldProgram: String?
    let transport: Fleet.Transport
    let found: Findings
    let progress: Progress

    struct Outcome: Sendable {
        var tally: Tally
        var pushes: [Push]
        var faults: [String: Int]
        var repeatedCalls: Int
        var seconds: Int
    }

    func run() async throws -> Outcome {
        let clock = Clock()
        try plan.lines.joined(separator: "\n").write(
            toFile: directory + "/schedule.log", atomically: false, encoding: .utf8)
        let log = try EventLog(path: directory + "/events.log", clock: clock)
        let fleet = try await Fleet(
            .init(program: program, oldProgram: oldProgram, directory: directory, plan: plan, transport: transport),
            log: log)
        defer { fleet.kill() }
        progress.phase("starting")
        try await fleet.startAll()
        try await fleet.waitUntilReady()
        let gateways = Gateways(urls: fleet.gatewayURLs, log: log)
        let pushes = Pushes(gateways, log)
        try await tag(gateways)
        progress.phase("start tokens")
        let startTokens = try await StartTokens.register(plan, gateways)
        let activities = plan.names.map { Activity($0, plan, gateways, pushes, clock, found, startTokens) }
        for activity in activities where !activity.plan.isStarted {
            progress.phase("\(activity.plan.name): \(activity.plan.initial) channels begin to follow")
            try await activity.begin()
        }
        let disturber = Disturber(fleet, log: log)
        let android = AndroidRun(plan, gateways, disturber, clock, found)
        try await android?.begin()
        clock.begin()
        log.note("everybody follows")
        try await live(fleet, pushes, activities, disturber, android, log)
        return try await judge(fleet, gateways, pushes, activities, startTokens, disturber, android, clock)
    }

    /// Follows the plan, and then waits until all accepted work is settled.
    private func live(
        _ fleet: Fleet, _ pushes: Pushes, _ activities: [Activity], _ disturber: Disturber, _ android: AndroidRun?,
        _ log: EventLog
    ) async throws {
        await disturber.change(nil)
        let large = Set(plan.names.filter { $0.initial >= 1_000 }.map(\.index))
        try await withThrowingTaskGroup(of: Void.self) { watching in
            watching.addTask { await fleet.supervise(found) }
            watching.addTask { await pushes.watch(large) }
            watching.addTask { await show(pushes, log) }
            async let disturbed: Void = disturber.run(plan)
            await withDiscardingTaskGroup { group in
                for activity in activities { group.addTask { await activity.live(disturber) } }
                if let android { group.addTask { await android.live() } }
            }
            await disturbed
            log.announce("all is well again")
            await disturber.change(nil)
            try await fleet.waitUntilReady()
            let left = try await pushes.drain(within: .seconds(240)) { _ in }
            for push in left {
                found.note(.ledgers, "\(push.title) never ended: \(push.ledger?.text ?? push.id)")
            }
            try await android?.drain()
            watching.cancelAll()
        }
    }

    private func show(_ pushes: Pushes, _ log: EventLog) async {
        let total = Clock.stamp(plan.milliseconds).prefix { $0 != "." }
        while !Task.isCancelled {
            let time = Clock.stamp(log.clock.now).prefix { $0 != "." }
            progress.phase("\(time) of \(total)  \(pushes.count) pushes, \(pushes.open.count) open  \(log.now)")
            try? await Task.sleep(for: .milliseconds(250))
        }
    }

    /// The leases that ran out, by the logs of the workers, each with the pushes of its open pages. A machine that is
    /// too busy for a lease of three seconds lets that happen, and whoever claims the work sends these pages again.
    private var leasesLost: [[String]] {
        let logs = directory + "/logs/"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: logs)) ?? []
        return files.filter { $0.hasPrefix("worker-") && $0.hasSuffix(".err") }.flatMap { file in
            let text = (try? String(contentsOfFile: logs + file, encoding: .utf8)) ?? ""
            let lines = text.matches(of: /a lease ran out before its pages were settled.*? push=(\S+)/)
            return lines.map { $0.1.split(separator: ",").map(String.init) }
        }
    }

    private func judge(
        _ fleet: Fleet, _ gateways: Gateways, _ pushes: Pushes, _ activities: [Activity],
        _ startTokens: StartTokens, _ disturber: Disturber, _ android: AndroidRun?, _ clock: Clock
    ) async throws -> Outcome {
        progress.phase("judging")
        let record = try await Record.read(fleet.controlURL)
        let leases = leasesLost
        let ofAndroid = leases.filter { $0.contains { android?.pushes.find($0) != nil } }
        let judge = Judge(
            plan: plan, activities: activities, startTokens: startTokens, pushes: pushes.all,
            cancelledEnds: pushes.cancelledEnds, record: record,
            interruptions: disturber.interruptions, wakes: disturber.wakes,
            leasesLost: leases.filter { !ofAndroid.contains($0) },
            controlURL: fleet.controlURL, found: found)
        var tally = try await judge.judge()
        tally.android = try await android?.judge(ofAndroid)
        let judged = pushes.all + (android?.pushes.all ?? [])
        let starter = Activity.forRegistryCheck(plan, gateways, pushes, clock, found)
        let registryCheck = RegistryCheck(
            activities: activities, starter: starter, startTokens: startTokens, gateways: gateways, pushes: pushes,
            before: record, deaths: disturber.deaths, interruptions: disturber.interruptions,
            controlURL: fleet.controlURL, found: found)
        try await registryCheck.run { progress.phase($0) }
        progress.phase("what is left at rest")
        try await AtRest(redis: fleet.redis, found: found).judge(within: .seconds(20))
        if plan.hasEvents {
            progress.phase("what was told")
            try await EventCheck(redis: fleet.redis, pushes: judged, found: found).judge(within: .seconds(90))
        }
        progress.phase("shutting down")
        await fleet.shutDown(found)
        progress.clear()
        return Outcome(
            tally: tally, pushes: judged, faults: disturber.counts, repeatedCalls: gateways.repeated,
            seconds: clock.now / 1_000)
    }

    /// Sets the channels' tags, a thousand at a time. They do not change during the run.
    private func tag(_ gateways: Gateways) async throws {
        let sets: [(String, (Int) -> Bool)] = [
            (#"["a"]"#, { Activity.tags($0) == (true, false) }), (#"["b"]"#, { Activity.tags($0) == (false, true) }),
            (#"["a","b"]"#, { Activity.tags($0) == (true, true) }),
        ]
        for (tags, belongs) in sets {
            let channels = (0..<plan.channels).filter(belongs).map(Activity.channel)
            for start in stride(from: 0, to: channels.count, by: 1_000) {
                progress.phase("tags \(tags): \(start) of \(channels.count)")
                let part = channels[start..<min(start + 1_000, channels.count)]
                let list = part.map { #""\#($0)""# }.joined(separator: ",")
                let body = #"{"audience":{"ios_channel":[\#(list)]},"set":{"device":\#(tags)}}"#
                let answer = try await gateways.call("POST", "/api/channels/tags", body, timeout: .seconds(60))
                guard answer.status == 200 else { throw ChaosFailure("tags: \(answer.status) \(answer.text)") }
            }
        }
    }
}
