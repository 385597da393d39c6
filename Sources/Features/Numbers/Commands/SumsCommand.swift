import Answers
import ArgumentParser
import LiveActivity
import StrictJSON

struct SumsCommand: GatewayCommand {
    static let configuration = CommandConfiguration(
        name: "sums", "Add up the pushes of each day, of each hour or of each name.",
        details: """
            The sums outlive the pushes: days are kept for 400 days, hours for 14. Of each day they have the thousand \
            names with the most deliveries. Days and hours are UTC. Without --from it is the last 14 days, 48 hours, \
            or 7 days of names.
            """,
        examples: "sums", "sums match-42 --by hour", "sums --by name --event end", "sums --by hour --csv > hours.csv",
        "sums --from 2026-11-01T00:00:00 --to 2026-12-01T00:00:00 --json")

    enum Group: String, ExpressibleByArgument, CaseIterable { case day, hour, name }

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without it, the pushes of all names.", completion: .names) var name: String?
    @Option(help: .value("group", "A row for each day, hour or name.")) var by: Group = .day
    @Option(help: .value("events", "Only these events, with commas between them.")) var event: String?
    @Option(help: .value("time", "From the day or hour of this time on (UTC), or epoch seconds.")) var from: String?
    @Option(help: .value("time", "Until this time.")) var to: String?
    @Flag(help: "Print CSV with all numbers, as the console's files have them.") var csv = false

    func validate() throws {
        guard !(csv && gateway.json) else { throw ValidationError("--csv and --json exclude each other") }
    }

    func run() async throws {
        guard csv else { return try await gateway.call(request, lines: lines) }
        let answer = try JSONDocument(try await gateway.client().send(request)).root.object()
        // With `--by name` all rows have a name and no time, else a time and no name.
        let columns = SumAnswer.columns.filter { $0 != (by == .name ? "at" : "name") }
        Terminal.print(CSVCell.line(of: columns))
        for row in try answer.required("sums").array() {
            Terminal.print(CSVCell.line(of: try row.object(), columns))
        }
    }

    var request: GatewayRequest {
        .get("/api/sums", ["by": by.rawValue, "name": name, "event": event, "from": from, "to": to])
    }

    func lines(_ answer: SumsAnswer) -> [String] {
        let sums = answer.sums
        // Columns of zeros say nothing.
        func count(_ title: String, rank: Int = 1, _ count: @escaping (SumAnswer) -> Int) -> Table.Listed<SumAnswer>? {
            sums.contains { count($0) > 0 } ? .count(title, rank: rank, count) : nil
        }
        func time(_ title: String, _ time: @escaping (SumAnswer) -> Int?) -> Table.Listed<SumAnswer>? {
            guard sums.contains(where: { time($0) ?? 0 > 0 }) else { return nil }
            return .right(title, rank: 2) { time($0).map { "\($0) ms" } ?? "" }
        }
        let devices: Table.Listed<SumAnswer>? =
            sums.contains { $0.devices != nil }
            ? .right("DEVICES", rank: 1) { $0.devices.map(Terminal.grouped) ?? "" } : nil
        // The deliveries on each platform, if there were any but on iOS.
        func delivered(on platform: Platform) -> Table.Listed<SumAnswer>? {
            guard sums.contains(where: { $0.platforms != nil }) else { return nil }
            return .count("ON \(platform.name.uppercased())", rank: 1) { sum in
                guard let parts = sum.platforms?.byPlatform else {
                    return platform == .ios ? sum.outcomes.delivered : 0
                }
                return parts[platform]?.delivered ?? 0
            }
        }
        let listed = Table.list(
            sums, nothing: "no pushes",
            .text(by.rawValue.uppercased()) { $0.name ?? title($0.at) },
            .count("PUSHES", \.pushes), .count("TARGETS", \.outcomes.targets),
            .count("DELIVERED", \.outcomes.delivered), delivered(on: .ios), delivered(on: .android),
            count("PRUNED", \.outcomes.pruned), count("FAILED", \.outcomes.failed),
            count("SUPERSEDED", rank: 2, \.outcomes.superseded), count("EXPIRED", \.outcomes.expired),
            count("SKIPPED", rank: 2, \.outcomes.skipped), count("PENDING", \.outcomes.pending),
            .count("LARGEST", rank: 1, \.largestAudience), devices,
            count("FOLLOWERS", rank: 2) { $0.followers ?? 0 }, count("NEW", rank: 2) { $0.newFollowers ?? 0 },
            count("LOST", rank: 2) { $0.lostFollowers ?? 0 }, count("SHOWN", \.shown), time("QUEUED", \.waited),
            time("FIRST PHONE", \.firstPhone), time("LAST PHONE", \.lastPhone))
        // The texts of times sort as the times do.
        let note = "before \(title(answer.since)) pushes were not counted, or are no longer kept"
        return listed + (answer.from < answer.since ? [note] : [])
    }

    /// `2026-11-21` or `2026-11-21 18:00`, UTC.
    private func title(_ time: String?) -> String {
        let text = (time ?? "").prefix(by == .hour ? 16 : 10)
        return String(text.replacing("T", with: " "))
    }
}
