import Answers
import ArgumentParser

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "history", "List the pushes of the app or of a name, newest first, or add them up.",
        details: """
            Pushes are listed as long as they are kept (pushes.expire_after). Those of a name come in the order of \
            their acceptance, those of the app in the order of their requests. SHOWN, ENDED and DISMISSED count the \
            devices that sent receipts, if there are any. Sums read every push, so a million of them take a while.
            """,
        examples: "history", "history match-42 --limit 20", "history --state failed,expired --from 2026-11-21T18:00:00",
        "history match-42 --event end --json", "history --sums day --from 2026-11-20T00:00:00",
        "history --sums name --event update")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without it, the pushes of all names.") var name: String?
    @Option(help: .value("states", "Only pushes in these states, with commas between them.")) var state: String?
    @Option(help: .value("events", "Only these events, with commas between them.")) var event: String?
    @Option(help: .value("time", "Only pushes accepted from this time on (UTC), or epoch seconds.")) var from: String?
    @Option(help: .value("time", "Only pushes accepted before this time.")) var to: String?
    @Option(help: .value("number", "List at most this many (default: 100).")) var limit: Int?
    @Option(help: .value("position", "Go on where a page ended, at its 'next'.")) var after: String?
    @Option(help: .value("group", "Add up the pushes of each day (UTC) or of each name.")) var sums: HistorySums.Group?

    func validate() throws {
        if sums != nil, limit != nil || after != nil {
            throw ValidationError("--sums adds up all pushes: leave out --limit and --after")
        }
    }

    /// The request for the list or for sums, from a position on.
    func request(_ path: GatewayPath, by group: String? = nil, limit: Int? = nil, after: String?) -> GatewayRequest {
        .get(
            path,
            [
                "by": group, "name": name, "state": state, "event": event, "from": from, "to": to,
                "limit": limit.map { "\($0)" }, "after": after,
            ])
    }

    func run() async throws {
        if let sums { return try await HistorySums(group: sums, command: self).print() }
        try await gateway.list("pushes", limit: limit ?? 100, after: after) { limit, after in
            request("/api/pushes", limit: limit, after: after)
        } lines: { (page: HistoryAnswer) in
            var lines: [String] = page.pushes.isEmpty ? ["no pushes"] : table(page.pushes).lines
            if let next = page.next { lines.append("more: --after \(next)") }
            return lines
        }
    }

    private func table(_ pushes: [LedgerAnswer]) -> Table {
        var table = Table(.left, .left, .left, .left, .left, .right, .right)
        table.add("ACCEPTED", "PUSH", "NAME", "EVENT", "STATE", "TARGETS", "DELIVERED")
        for push in pushes {
            table.add(
                push.createdAt, push.pushID, push.name, push.event, push.state, Terminal.grouped(push.targets),
                Terminal.grouped(push.delivered))
        }
        guard pushes.contains(where: { $0.receipts.contains { $0 != nil } }) else { return table }
        table.alignments += [.right, .right, .right]
        table.rows[0] += ["SHOWN", "ENDED", "DISMISSED"]
        for (row, push) in pushes.enumerated() {
            table.rows[row + 1] += push.receipts.map { $0.map(Terminal.grouped) ?? "" }
        }
        return table
    }
}

extension LedgerAnswer {
    fileprivate var receipts: [Int?] { [shown, ended, dismissed] }
}
