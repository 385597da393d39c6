import ArgumentParser

/// `lamplighter schedule`: manages publishes that wait for their time.
struct ScheduleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schedule",
        abstract: "List, show or delete publishes that wait for their time.",
        discussion: """
            'lamplighter publish … --at TIME' makes one, and with --replace ID puts another in its place.

            Examples:
              lamplighter schedule list
              lamplighter schedule show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --json
              lamplighter schedule delete 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
            """,
        subcommands: [ScheduleList.self, ScheduleShow.self, ScheduleDelete.self])
}

struct ScheduleList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Those that wait, the earliest first.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Option(name: .long, help: ArgumentHelp("From this one on.", valueName: "id"))
    var start: String?
    @Option(name: .long, help: ArgumentHelp("At most this many, up to 100.", valueName: "number"))
    var limit = 100

    func run() async throws {
        let client = try gateway.client(global)
        let query = "limit=\(limit)" + (start.map { "&start=\(GatewayClient.segment($0))" } ?? "")
        let answer = try await client.send("GET", "/api/schedules?\(query)")
        if global.json { return Terminal.print(json: answer) }
        let page = try GatewayClient.decode(Page.self, answer)
        var table = Table(.left, .left, .left)
        for schedule in page.schedules {
            table.add(schedule.id, schedule.schedule.scheduled_time + "Z", schedule.title)
        }
        table.print()
        if page.count < page.total_count { Terminal.error("\(page.count) of \(page.total_count); --start goes on") }
    }

    private struct Page: Decodable {
        var count: Int
        var total_count: Int
        var schedules: [ScheduleReport]
    }
}

struct ScheduleShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "One schedule, and what became of it.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Id of the schedule, as 'publish --at' printed it.")
    var id: String

    func run() async throws {
        let answer = try await gateway.client(global).send("GET", "/api/schedules/\(GatewayClient.segment(id))")
        if global.json { return Terminal.print(json: answer) }
        let schedule = try GatewayClient.decode(ScheduleReport.self, answer)
        var table = Table(.left, .left)
        table.add("schedule", schedule.id)
        if let label = schedule.name { table.add("called", label) }
        table.add("name", schedule.push.notification.ios.live_activity.name)
        table.add("event", schedule.push.notification.ios.live_activity.event)
        table.add("at", schedule.schedule.scheduled_time + "Z")
        table.add("state", schedule.state + (schedule.reason.map { ": \($0)" } ?? ""))
        table.print()
    }
}

struct ScheduleDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete one before its time: nothing is sent.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Id of the schedule.")
    var id: String

    func run() async throws {
        _ = try await gateway.client(global).send("DELETE", "/api/schedules/\(GatewayClient.segment(id))")
        if global.json { Terminal.print(#"{"ok":true}"#) }
    }
}

/// A schedule as the gateway returns it.
struct ScheduleReport: Decodable {
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

    var id: String { push_ids.first ?? "" }
    var title: String {
        let activity = push.notification.ios.live_activity
        return "\(activity.event) \(activity.name)" + (name.map { " (\($0))" } ?? "")
    }
}
