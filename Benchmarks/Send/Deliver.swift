import APNsClient
import APNsWire
import ArgumentParser
import Delivery
import Foundation
import Lanes
import LiveActivity

/// Sends updates to a server that is not ours, one after the other, and prints what became of them. A request without
/// an answer, or with a 429 or a 5xx, is sent again after a second, as a worker does. Tokens begin with their number,
/// lowest byte first.
struct Deliver: AsyncParsableCommand {
    @OptionGroup var key: KeyOptions
    @Option var transport: TransportKind
    @Option var port: Int
    @Option var caFile: String
    @Option var bodyFile: String
    @Option var tokens = 5_000
    @Option var updates = 3
    @Option(help: "Seconds for one update.") var patience = 30
    @Flag(help: "The server answers 410 Unregistered to tokens from 00 to 07 and 400 BadDeviceToken to 08.")
    var rejects = false

    private struct Tally: Encodable {
        var targets = 0
        var delivered = 0
        var rejected = 0
        /// Another answer than the server's rules say.
        var wrong = 0
        var pending = 0
        var possibleRepeats = 0
        /// Of the slowest update.
        var seconds = 0.0
        var cpuMicroseconds = 0.0
        /// What went wrong, and how often.
        var causes: [String: Int] = [:]

        mutating func note(_ cause: String) { causes[cause, default: 0] += 1 }
    }

    func run() async throws {
        var configuration = APNsConfiguration(
            origin: "https://127.0.0.1:\(port)", teamID: key.teamID, keyID: key.keyID,
            keyPEM: Array(try Data(contentsOf: URL(fileURLWithPath: key.keyFile))), caFile: caFile,
            requestTimeout: .seconds(10))
        configuration.lanes = 2
        let sender = try LaneTransport(transport, configuration: configuration, logger: .warnings)
        let push = PreparedPush(
            bundleID: "com.example.scores", priority: .high, expiration: 0,
            payload: Array(try Data(contentsOf: URL(fileURLWithPath: bodyFile))))
        var tally = Tally()
        let cpu = CPUTime.now
        for _ in 0..<updates {
            let start = ContinuousClock.now
            await update(push, sender, until: start + .seconds(patience), &tally)
            tally.seconds = max(tally.seconds, (ContinuousClock.now - start) / .seconds(1))
        }
        tally.cpuMicroseconds = (CPUTime.now - cpu) * 1e6 / Double(tokens * updates)
        await sender.close()
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = .sortedKeys
        print(String(decoding: try encoder.encode(tally), as: UTF8.self))
    }

    private func update(
        _ push: PreparedPush, _ sender: LaneTransport, until deadline: ContinuousClock.Instant, _ tally: inout Tally
    ) async {
        tally.targets += tokens
        var waiting = Array(0..<tokens)
        while !waiting.isEmpty {
            var again: [Int] = []
            for (numbers, outcome) in await send(waiting, push, sender) {
                let others = outcome.exceptions.map { numbers[$0.index] }
                let wronglyAccepted = Set(numbers).subtracting(others).count { rejection(of: $0) != nil }
                tally.delivered += outcome.accepted - wronglyAccepted
                tally.wrong += wronglyAccepted
                for exception in outcome.exceptions {
                    let number = numbers[exception.index]
                    if note(exception.outcome, of: number, &tally) { again.append(number) }
                }
            }
            waiting = again
            if waiting.isEmpty { return }
            guard ContinuousClock.now < deadline else { break }
            try? await Task.sleep(for: .seconds(1))
        }
        tally.pending += waiting.count
    }

    /// Whether the token's request is sent again.
    private func note(_ outcome: PushOutcome, of number: Int, _ tally: inout Tally) -> Bool {
        switch outcome {
        case .accepted: return false
        case .rejected(let rejection):
            let words = "\(rejection.status) \(rejection.reason)"
            if rejection.status == 429 || rejection.status >= 500 {
                tally.note(words)
                return true
            }
            let isRight = words == self.rejection(of: number)
            tally.rejected += isRight ? 1 : 0
            tally.wrong += isRight ? 0 : 1
            if !isRight { tally.note(words) }
            return false
        case .unanswered(let answer):
            tally.possibleRepeats += answer.mayHaveBeenDelivered ? 1 : 0
            tally.note(answer.cause.rawValue)
            return true
        }
    }

    /// What the server answers to a token, if it is not 200.
    private func rejection(of number: Int) -> String? {
        switch number & 0xFF {
        case 0...7 where rejects: "410 Unregistered"
        case 8 where rejects: "400 BadDeviceToken"
        default: nil
        }
    }

    private func send(
        _ numbers: [Int], _ push: PreparedPush, _ sender: LaneTransport
    ) async -> [(numbers: [Int], outcome: PageOutcome)] {
        await withTaskGroup(of: ([Int], PageOutcome).self) { group in
            for start in stride(from: 0, to: numbers.count, by: Run.pageSize) {
                let part = Array(numbers[start..<min(start + Run.pageSize, numbers.count)])
                group.addTask { (part, await sender.send(Run.page(part), push)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}
