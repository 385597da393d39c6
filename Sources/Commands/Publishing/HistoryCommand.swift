import Answers
import ArgumentParser
import LiveActivity

struct HistoryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "history", "List the pushes of the app or of a name, newest first.",
        details: """
            Pushes are listed as long as they are kept (pushes.expire_after). Those of a name come in the order of \
            their acceptance, those of the app in the order of their requests. SHOWN, ENDED and DISMISSED count the \
            devices that sent receipts, if there are any.
            """,
        examples: "history", "history match-42 --limit 20", "history --state failed,expired --from 2026-11-21T18:00:00",
        "history match-42 --event end --json")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without it, the pushes of all names.", completion: .names) var name: String?
    @Option(help: .value("states", "Only pushes in these states, with commas between them.")) var state: String?
    @Option(help: .value("events", "Only these events, with commas between them.")) var event: String?
    @Option(help: .value("time", "Only pushes accepted from this time on (UTC), or epoch seconds.")) var from: String?
    @Option(help: .value("time", "Only pushes accepted before this time.")) var to: String?
    @Option(help: .value("number", "List at most this many (default: 100).")) var limit: Int?
    @Option(help: .value("position", "Go on where a page ended, at its 'next'.")) var after: String?

    private func request(limit: Int, after: String?) -> GatewayRequest {
        .get(
            "/api/pushes",
            [
                "name": name, "state": state, "event": event, "from": from, "to": to, "limit": "\(limit)",
                "after": after,
            ])
    }

    func run() async throws {
        var isEmpty = false
        try await gateway.list("pushes", limit: limit ?? 100, after: after) { limit, after in
            request(limit: limit, after: after)
        } lines: { (page: HistoryAnswer) in
            isEmpty = page.pushes.isEmpty
            // Only the list of an app that sends receipts has their columns.
            let isTold = page.pushes.contains { $0.shown != nil || $0.ended != nil || $0.dismissed != nil }
            func told(_ title: String, _ count: @escaping (LedgerAnswer) -> Int?) -> Table.Listed<LedgerAnswer>? {
                isTold ? .right(title, rank: 3) { count($0).map(Terminal.grouped) ?? "" } : nil
            }
            // Only a list with a second person has the column of both people.
            let hasSecond = page.pushes.contains { $0.by?.second != nil }
            return Table.list(
                page.pushes, nothing: "no pushes", next: page.next, .time("ACCEPTED", \.createdAt),
                .id("PUSH", \.pushID), .text("NAME", rank: name == nil ? 0 : 4, \.name),
                .text("EVENT", rank: 2, \.event),
                .text("STATE", \.stateText), .count("TARGETS", rank: 1, \.targets), .count("DELIVERED", \.delivered),
                told("SHOWN", \.shown), told("ENDED", \.ended), told("DISMISSED", \.dismissed),
                hasSecond ? .text("BY", rank: 3) { $0.by?.caller ?? "" } : nil)
        }
        guard isEmpty, let name, !gateway.json else { return }
        do {
            _ = try await gateway.client().send(.get("/api/activities/\(name)"))
        } catch let failure as CommandFailure {
            // The 404 names similar names.
            guard let refusal = failure.refusal, refusal.status == 404 else { throw failure }
            Terminal.error("warning: \(refusal.reason)")
        }
    }
}
