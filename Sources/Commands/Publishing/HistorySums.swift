import ArgumentParser
import LiveActivity
import StrictJSON

/// Sums over the history. A call of the gateway reads a part of it, so the parts are added up here.
struct HistorySums {
    enum Group: String, ExpressibleByArgument, CaseIterable { case day, name }

    let group: Group
    let command: HistoryCommand

    func print() async throws {
        let client = try command.gateway.client()
        var sums: [ExactText: Sum] = [:]
        var next: String?
        repeat {
            let request = command.request("/api/pushes/sums", by: group.rawValue, after: next).within(.seconds(120))
            let part: Part = try GatewayClient.decode(try await client.send(request))
            for sum in part.sums { sums[ExactText(sum.title), default: Sum()] += sum }
            next = part.next
        } while next != nil
        let rows = sums.sorted { one, other in
            // The latest day, or the name with the most targets, comes first.
            group == .day ? other.key < one.key : (other.value.targets, one.key) < (one.value.targets, other.key)
        }
        if command.gateway.json {
            let body: JSON = [
                "ok": true, "by": .string(group.rawValue),
                "sums": .array(rows.map { $0.value.json(group.rawValue, $0.key.description) }),
            ]
            return Terminal.print(body.text)
        }
        if rows.isEmpty { return Terminal.print("no pushes") }
        var table = Table(.left, .right, .right, .right, .right, .right, .right)
        table.add(
            group.rawValue.uppercased(), "PUSHES", "TARGETS", "DELIVERED", "FAILED", "EXPIRED", "PRUNED")
        for (title, sum) in rows {
            table.rows.append(
                [title.description]
                    + [sum.pushes, sum.targets, sum.delivered, sum.failed, sum.expired, sum.pruned].map(
                        Terminal.grouped))
        }
        table.print()
    }

    private struct Part: Decodable {
        var sums: [Sum]
        var next: String?
    }

    private struct Sum: Decodable {
        var day: String?
        var name: String?
        var pushes = 0
        var targets = 0
        var delivered = 0
        var pruned = 0
        var failed = 0
        var superseded = 0
        var expired = 0
        var skipped = 0
        var pending = 0

        var title: String { day ?? name ?? "" }

        static func += (sum: inout Sum, other: Sum) {
            sum.pushes += other.pushes
            sum.targets += other.targets
            sum.delivered += other.delivered
            sum.pruned += other.pruned
            sum.failed += other.failed
            sum.superseded += other.superseded
            sum.expired += other.expired
            sum.skipped += other.skipped
            sum.pending += other.pending
        }

        func json(_ key: String, _ title: String) -> JSON {
            .object([
                JSON.Member(key, .string(title)), JSON.Member("pushes", .integer(pushes)),
                JSON.Member("targets", .integer(targets)), JSON.Member("delivered", .integer(delivered)),
                JSON.Member("pruned", .integer(pruned)), JSON.Member("failed", .integer(failed)),
                JSON.Member("superseded", .integer(superseded)), JSON.Member("expired", .integer(expired)),
                JSON.Member("skipped", .integer(skipped)), JSON.Member("pending", .integer(pending)),
            ])
        }
    }
}
