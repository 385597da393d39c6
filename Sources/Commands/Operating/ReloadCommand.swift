import ArgumentParser
import FoundationEssentials
import Glibc
import Redis
import Settings
import Store
import StrictJSON

/// `lamplighter reload`: makes running gateways and workers read their configuration again.
struct ReloadCommand: CheckedCommand {
    static let configuration = CommandConfiguration(
        name: "reload", "Make running gateways and workers read their configuration again.",
        details: """
            Each process reads its own file, and answers what it has changed and what needs a restart. A file that \
            cannot be used changes nothing. Processes are asked through Redis, and answer within some seconds. \
            With --pid one process of this machine gets a SIGHUP, and its log tells the rest. \
            Variables of the environment cannot change while a process runs.
            """,
        examples: "reload", "reload --json", "reload --pid 4711")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var redis: RedisFlags
    @Option(help: .value("pid", "Only this process of this machine.")) var pid: Int32?
    @Option(help: .value("seconds", "How long to wait for the answers.")) var wait = 15.0

    func check() throws {
        guard (0...3_600).contains(wait) else { throw ValidationError("--wait must be 0 to 3600 seconds") }
        guard let pid else { return }
        guard pid > 1 else { throw ValidationError("--pid must be the id of a gateway or worker") }
    }

    func run() async throws {
        if let pid { return try signal(pid) }
        let settings = try global.settings(redis.given)
        let store = try await RedisInspection.store(settings, logger: global.quietLogger("reload", settings))
        // Processes note by Redis's clock that they live.
        try await store.time.measure()
        let requests = store.reloads
        let (id, processes) = try await requests.ask()
        guard !processes.isEmpty else {
            await store.redis.close()
            throw CommandFailure(.failed, "no gateway or worker runs with \(settings.redisURL)")
        }
        let answers = try await answers(requests, id, processes)
        await store.redis.close()
        Terminal.note(change: "the processes have read their configuration again, as their logs say")
        print(processes, answers)
        let isFine = processes.allSatisfy { answers[$0.name] != nil && answers[$0.name]?.error == nil }
        if !isFine { throw CommandFailure(.failed, "") }
    }

    private func signal(_ pid: Int32) throws {
        guard kill(pid, SIGHUP) == 0 else {
            throw CommandFailure(.failed, "cannot signal process \(pid): \(String(cString: strerror(errno)))")
        }
        Terminal.note(change: "the process was told to read its configuration again")
        let note = "process \(pid) was told to read its configuration again; its log says what has changed"
        Terminal.print(global.json ? JSON.fields(["ok": true, "pid": .integer(Int64(pid))]).text : note)
    }

    private func answers(
        _ requests: ReloadRequests, _ id: String, _ processes: [ReloadRequests.Process]
    ) async throws -> [String: ReloadAnswer] {
        let end = ContinuousClock.now + .seconds(wait)
        while true {
            let answers = try await requests.answers(id)
            let isComplete = processes.allSatisfy { answers[$0.name] != nil }
            if isComplete || ContinuousClock.now >= end { return answers }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func print(_ processes: [ReloadRequests.Process], _ answers: [String: ReloadAnswer]) {
        if global.json {
            let list: [JSON] = processes.map { process in
                let answer =
                    answers[process.name] ?? ReloadAnswer(process: process.kind, error: "no answer in time")
                var json: JSON = ["name": .string(process.name)]
                json.append("answer", answer.json)
                return json
            }
            return Terminal.print(JSON.fields(["processes": .array(list)]).text)
        }
        for process in processes {
            let name = "\(process.kind) \(process.name)"
            guard let answer = answers[process.name] else {
                Terminal.print("✗ \(name): no answer in time")
                continue
            }
            if let error = answer.error {
                Terminal.print("✗ \(name): nothing has changed: \(error)")
                continue
            }
            let changed = answer.applied.isEmpty ? "nothing has changed" : answer.applied.joined(separator: ", ")
            Terminal.print("✓ \(name): \(changed)")
            if !answer.needsRestart.isEmpty {
                Terminal.print("! \(name) needs a restart for \(answer.needsRestart.joined(separator: ", "))")
            }
        }
    }
}
