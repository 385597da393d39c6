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
        // Columns of zeros are left out, so that the others fit on a line of a terminal.
        let columns = Sum.counts.filter { column in
            Self.alwaysShown.contains(column.key) || rows.contains { $0.value[keyPath: column.path] > 0 }
        }
        var table = Table(.left)
        table.alignments += columns.map { _ in .right }
        table.rows.append([group.rawValue.uppercased()] + columns.map { $0.key.uppercased() })
        for (title, sum) in rows {
            table.rows.append([title.description] + columns.map { Terminal.grouped(sum[keyPath: $0.path]) })
        }
        table.print()
    }

    private static let alwaysShown = ["pushes", "targets", "delivered"]

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

        /// The counts, by their keys in JSON. `targets` is the sum of those after it.
        static var counts: [(key: String, path: WritableKeyPath<Sum, Int>)] {
            [
                ("pushes", \.pushes), ("targets", \.targets), ("delivered", \.delivered), ("pruned", \.pruned),
                ("failed", \.failed), ("superseded", \.superseded), ("expired", \.expired), ("skipped", \.skipped),
                ("pending", \.pending),
            ]
        }

        static func += (sum: inout Sum, other: Sum) {
            for count in counts { sum[keyPath: count.path] += other[keyPath: count.path] }
        }

        func json(_ key: String, _ title: String) -> JSON {
            .object(
                [JSON.Member(key, .string(title))]
                    + Self.counts.map { JSON.Member($0.key, .integer(self[keyPath: $0.path])) })
        }
    }
}
