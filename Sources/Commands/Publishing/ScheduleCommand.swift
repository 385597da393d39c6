import Answers
import ArgumentParser
import FoundationEssentials
import LiveActivity
import StrictJSON

struct ScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "schedule", "List, show or delete publishes that wait for their time.",
        details: "'lamplighter publish … --at TIME' creates a schedule. With --replace ID it replaces another one.",
        examples: "schedule list", "schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --json",
        "schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        subcommands: [List.self, Show.self, Delete.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "List the schedules that wait, the earliest first, or those that are over, the latest first.",
            details: "A schedule that waits is shown with its time, one that is over with the time of its end.",
            examples: "schedule list --limit 20", "schedule list --finished")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("id", "List from this schedule on.")) var start: String?
        @Option(help: .value("number", "List at most this many, up to 100.")) var limit = 100
        @Flag(help: "List those that were sent, failed or were deleted, as long as they are kept.") var finished = false

        func run() async throws {
            let query: KeyValuePairs = [
                "limit": "\(limit)", "start": start,
                "state": finished ? "finished" : nil,
            ]
            try await gateway.call(.get("/api/schedules", query)) { (page: ScheduleListAnswer) in
                if let next = page.next {
                    Terminal.error("\(Terminal.grouped(page.totalCount)) in all; --start \(next) lists the next ones")
                }
                return Table.list(
                    page.schedules, nothing: page.totalCount == 0 ? "no schedules" : nil, .id("SCHEDULE", \.id),
                    .time(finished ? "FINISHED" : "GOES OUT", \.time), finished ? .text("STATE", \.outcome) : nil,
                    .text("PUBLISH", \.title))
            }
        }
    }

    struct Show: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Show one schedule and its state.", examples: "schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule, as 'publish --at' printed it.") var id: String

        func check() throws { try checkSchedule(id) }

        var request: GatewayRequest { .get("/api/schedules/\(id)") }
        func lines(_ schedule: ScheduleAnswer) -> [String] {
            Table(fields: [
                "schedule": schedule.id, "called": schedule.name, "name": schedule.activityName,
                "event": schedule.event, "at": schedule.goesOut,
                "state": schedule.outcome, "finished": schedule.finishedAt,
            ]).lines
        }
    }

    struct Delete: CheckedCommand {
        static let configuration = CommandConfiguration(
            "Delete a schedule before its time. Its publish is not sent. It asks first on a terminal.",
            examples: "schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule.") var id: String

        @OptionGroup var asking: Asking

        func check() throws { try checkSchedule(id) }

        func run() async throws {
            try await asking.confirm(question, kept: "nothing was deleted")
            try await gateway.call(.delete("/api/schedules/\(id)"))
        }

        private func question() async throws -> String {
            let what = try await gateway.client().count(.get("/api/schedules/\(id)")) { (schedule: ScheduleAnswer) in
                "\(schedule.title) at \(schedule.goesOut)"
            }
            return "Delete the schedule \(what ?? id)? It is not sent then."
        }
    }
}

extension ScheduleListAnswer {
    /// The first schedule of the next page.
    fileprivate var next: String? {
        nextPage.flatMap { URLComponents(string: $0)?.queryItems?.first { $0.name == "start" }?.value }
    }
}

extension ScheduleAnswer {
    fileprivate var time: String { finishedAt ?? goesOut }
    fileprivate var goesOut: String { schedule.scheduledTime + "Z" }
    fileprivate var outcome: String { state + (reason.map { ": \($0)" } ?? "") }
    fileprivate var id: String { pushIDs.first ?? "" }
    fileprivate var title: String { "\(event) \(activityName)" + (name.map { " (\($0))" } ?? "") }
    fileprivate var activityName: String { activity("name") }
    fileprivate var event: String { activity("event") }

    /// A member of the publish, which is as it was sent.
    private func activity(_ key: String) -> String {
        let posted = (try? JSONDocument(push.bytes).root.object()).flatMap { PostedPush($0) }
        return posted?.activity.text(key) ?? ""
    }
}
