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
            if group == .day { return other.key < one.key }
            return (other.value.outcomes.targets, one.key) < (one.value.outcomes.targets, other.key)
        }
        if command.gateway.json {
            let body = PushSumsAnswer(by: group.rawValue, sums: rows.map(\.value), next: nil)
            return Terminal.print(body.answerJSON.text)
        }
        if rows.isEmpty { return Terminal.print("no pushes") }
        // Columns of zeros say nothing.
        let columns = Self.columns.filter { column in
            Self.alwaysShown.contains(column.name) || rows.contains { column.count($0.value) > 0 }
        }
        let numbers = columns.map { column in
            Table.Column.number(column.name.uppercased(), rank: Self.alwaysShown.contains(column.name) ? 0 : 1)
        }
        var table = Table([.text(group.rawValue.uppercased())] + numbers)
        for (title, sum) in rows {
            table.rows.append([title.description.visible] + columns.map { Terminal.grouped($0.count(sum)) })
        }
        table.lines(Terminal.width).forEach(Terminal.print)
    }

    private static let alwaysShown = ["pushes", "targets", "delivered"]

    private typealias Column = (name: String, count: (PushSumAnswer) -> Int)

    /// The targets are the sum of the counts behind them.
    private static var columns: [Column] {
        var columns: [Column] = [("pushes", \.pushes), ("targets", \.outcomes.targets)]
        for field in SettledField.allCases { columns.append((field.rawValue, { $0.outcomes[field] })) }
        columns.append(("pending", \.outcomes.pending))
        return columns
    }

    private static func added(_ sum: PushSumAnswer, _ other: PushSumAnswer) -> PushSumAnswer {
        var sum = sum
        sum.pushes += other.pushes
        sum.outcomes += other.outcomes
        return sum
    }
}
