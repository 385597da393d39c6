import Answers
import ArgumentParser
import FoundationEssentials
import LiveActivity
import StrictJSON

struct ScheduleCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "schedule", "List, show or delete publishes that wait for their time, or approve them.",
        details: """
            'lamplighter publish … --at TIME' creates a schedule. With --replace ID it replaces another one. A publish of \
            a credential with the scope propose waits for the approval of another one with the scope approve.
            """,
        examples: "schedule list", "schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --json",
        "schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        subcommands: [List.self, Show.self, Delete.self, Approve.self, Reject.self])

    struct List: CheckedCommand {
        static let configuration = CommandConfiguration(
            "List the schedules that wait, the earliest first, or those that are over, the latest first.",
            details: "A schedule that waits is shown with its time, one that is over with the time of its end.",
            examples: "schedule list --limit 20", "schedule list --finished", "schedule list --awaiting-approval")

        @OptionGroup var gateway: GatewayOptions
        @Option(help: .value("id", "List from this schedule on.")) var start: String?
        @Option(help: .value("number", "List at most this many, up to 100.")) var limit = 100
        @Flag(help: "List those that were sent, failed or were deleted, as long as they are kept.") var finished = false
        @Flag(help: "List those that wait for approval, the first to lapse first.") var awaitingApproval = false

        func check() throws {
            if finished, awaitingApproval { throw ValidationError("--finished or --awaiting-approval: leave one out") }
        }

        func run() async throws {
            let query: KeyValuePairs = [
                "limit": "\(limit)", "start": start,
                "state": finished ? "finished" : awaitingApproval ? "awaiting_approval" : nil,
            ]
            try await gateway.call(.get("/api/schedules", query)) { (page: ScheduleListAnswer) in
                if let next = page.next {
                    Terminal.error("\(Terminal.grouped(page.totalCount)) in all; --start \(next) lists the next ones")
                }
                return Table.list(
                    page.schedules, nothing: page.totalCount == 0 ? "no schedules" : nil, .text("", \.id),
                    .text("", \.time), finished ? .text("", \.outcome) : nil,
                    awaitingApproval ? .text("", { $0.asker ?? "" }) : nil, .text("", \.title))
            }
        }
    }

    struct Show: GatewayCommand {
        static let configuration = CommandConfiguration(
            "Show one schedule and its state.", examples: "schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule, as 'publish --at' printed it.") var id: String

        var request: GatewayRequest { .get("/api/schedules/\(id)") }
        func lines(_ schedule: ScheduleAnswer) -> [String] {
            Table(fields: [
                "schedule": schedule.id, "called": schedule.name, "name": schedule.activityName,
                "event": schedule.event, "at": schedule.goesOut,
                "state": schedule.outcome, "finished": schedule.finishedAt, "asked by": schedule.asker,
                "asked": schedule.approval?.askedAt, "lapses": schedule.approval?.lapsesAt,
                "request": schedule.state == "awaiting_approval" ? schedule.approval?.request : nil,
                "decided by": schedule.approval?.decidedBy?.caller, "decided": schedule.approval?.decidedAt,
            ]).lines
        }
    }

    struct Approve: GatewayCommand {
        static let configuration = CommandConfiguration(
            "Approve a publish that another person asked for. It goes out at its time, or at once.",
            details: "'lamplighter schedule show ID' prints its request. Another publish in its place has another one.",
            examples: "schedule approve 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 "
                + "--request 5d0a1f3e-6a53-4d6c-9a2b-8f0e1c2d3b4a")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule.") var id: String
        @Option(name: .customLong("request"), help: .value("id", "The request, as you have seen it.")) var seen: String

        var request: GatewayRequest { .post("/api/schedules/\(id)/approve", ["request": .string(seen)]) }
        func lines(_ schedule: ScheduleAnswer) -> [String] { ["approved \(schedule.title)"] }
    }

    struct Reject: GatewayCommand {
        static let configuration = CommandConfiguration(
            "Reject a publish that another person asked for. Nothing of it is sent.",
            examples: "schedule reject 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
            "schedule reject 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --reason 'the score is 3:1'")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule.") var id: String

        @Option(help: .value("text", "Why, for the person who asked.")) var reason: String?

        var request: GatewayRequest {
            .post("/api/schedules/\(id)/reject", reason.map { ["reason": .string($0)] })
        }
        func lines(_ schedule: ScheduleAnswer) -> [String] { ["rejected \(schedule.title)"] }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete a schedule before its time. Its publish is not sent.",
            examples: "schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule.") var id: String

        func run() async throws { try await gateway.call(.delete("/api/schedules/\(id)")) }
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
    fileprivate var goesOut: String {
        approval?.atOnce == true && state == "awaiting_approval" ? "once approved" : schedule.scheduledTime + "Z"
    }
    fileprivate var asker: String? { approval?.askedBy?.caller }
    fileprivate var outcome: String { state + (reason.map { ": \($0)" } ?? "") }
    fileprivate var id: String { pushIDs.first ?? "" }
    fileprivate var title: String { "\(event) \(activityName)" + (name.map { " (\($0))" } ?? "") }
    fileprivate var activityName: String { activity("name") }
    fileprivate var event: String { activity("event") }

    /// A member of the publish, which is as it was sent.
    private func activity(_ key: String) -> String {
        var object = try? JSONDocument(push.bytes).root.object()
        for key in ["notification", "ios", "live_activity"] { object = try? object?[key]?.object() }
        return (try? object?[key]?.string()) ?? ""
    }
}
