import ArgumentParser
import FoundationEssentials

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
                "limit": "\(limit)", "start": start, "state": finished ? "finished" : nil,
            ]
            try await gateway.call(.get("/api/schedules", query)) { (page: Page) in
                var table = Table(.left, .left, .left, .left)
                for entry in page.schedules {
                    let time = entry.finished_at ?? entry.schedule.scheduled_time + "Z"
                    table.rows.append([entry.id, time] + (finished ? [entry.outcome] : []) + [entry.title])
                }
                if let next = page.next {
                    Terminal.error("\(Terminal.grouped(page.total_count)) in all; --start \(next) lists the next ones")
                }
                return page.total_count == 0 ? ["no schedules"] : table.lines
            }
        }

        private struct Page: Decodable {
            var total_count: Int
            var next_page: String?
            var schedules: [Schedule]

            /// The first schedule of the next page.
            var next: String? {
                next_page.flatMap { URLComponents(string: $0)?.queryItems?.first { $0.name == "start" }?.value }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Show one schedule and its state.", examples: "schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule, as 'publish --at' printed it.") var id: String

        func run() async throws {
            try await gateway.call(.get("/api/schedules/\(id)")) { (schedule: Schedule) in
                Table(fields: [
                    "schedule": schedule.id, "called": schedule.name, "name": schedule.activity.name,
                    "event": schedule.activity.event, "at": schedule.schedule.scheduled_time + "Z",
                    "state": schedule.outcome, "finished": schedule.finished_at,
                ]).lines
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete a schedule before its time. Its publish is not sent.",
            examples: "schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the schedule.") var id: String

        func run() async throws { try await gateway.call(.delete("/api/schedules/\(id)")) }
    }

    struct Schedule: Decodable {
        struct Time: Decodable { var scheduled_time: String }
        struct Push: Decodable { var notification: Notification }
        struct Notification: Decodable { var ios: IOS }
        struct IOS: Decodable { var live_activity: Activity }
        struct Activity: Decodable {
            var name: String
            var event: String
        }

        var schedule: Time
        var name: String?
        var push: Push
        var push_ids: [String]
        var state: String
        var reason: String?
        var finished_at: String?

        var outcome: String { state + (reason.map { ": \($0)" } ?? "") }
        var id: String { push_ids.first ?? "" }
        var activity: Activity { push.notification.ios.live_activity }
        var title: String { "\(activity.event) \(activity.name)" + (name.map { " (\($0))" } ?? "") }
    }
}
