import Answers
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
        var sums: [ExactText: PushSumAnswer] = [:]
        var next: String?
        repeat {
            let request = command.request("/api/pushes/sums", by: group.rawValue, after: next).within(.seconds(120))
            let part: PushSumsAnswer = try GatewayClient.decode(try await client.send(request))
            for sum in part.sums {
                let title = ExactText(sum.day ?? sum.name ?? "")
                sums[title] = sums[title].map { Self.added($0, sum) } ?? sum
            }
            next = part.next
        } while next != nil
        let rows = sums.sorted { one, other in
            // The latest day, or the name with the most targets, comes first.
            group == .day ? other.key < one.key : (other.value.targets, one.key) < (one.value.targets, other.key)
        }
        if command.gateway.json {
            let body = PushSumsAnswer(by: group.rawValue, sums: rows.map(\.value), next: nil)
            return Terminal.print(body.answerJSON.text)
        }
        if rows.isEmpty { return Terminal.print("no pushes") }
        // Columns of zeros are left out, so that the others fit on a line of a terminal.
        let columns = Self.counts.filter { column in
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

    /// The counts, by the words of the table. `targets` is the sum of those after it.
    private static var counts: [(key: String, path: WritableKeyPath<PushSumAnswer, Int>)] {
        [
            ("pushes", \.pushes), ("targets", \.targets), ("delivered", \.delivered), ("pruned", \.pruned),
            ("failed", \.failed), ("superseded", \.superseded), ("expired", \.expired), ("skipped", \.skipped),
            ("pending", \.pending),
        ]
    }

    private static func added(_ sum: PushSumAnswer, _ other: PushSumAnswer) -> PushSumAnswer {
        var sum = sum
        for (_, path) in counts { sum[keyPath: path] += other[keyPath: path] }
        return sum
    }
}
