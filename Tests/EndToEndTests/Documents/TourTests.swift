import Foundation
import TestSupport
import Testing

/// Runs the README's tour, command by command, against a deployment. The output must be what the README shows.
@Suite("The README's tour")
struct TourTests {
    private struct Step {
        var command: String
        /// Nil accepts any output.
        var output: String?
    }

    /// Processes that a reader leaves running. The deployment takes their place.
    private static let processes = ["swift build", "export ", "lamplighter serve\n"]

    @Test func `each command answers as it is shown`() async throws {
        let blocks = try Self.blocks()
        let simulated = try #require(blocks.first { $0.text.contains("lamplighter simulate --port 8443") })
        #expect(simulated.text.contains("--control-port 8444"))
        let exported = blocks.map(\.text).filter { $0.hasPrefix("export ") }.joined()
        let secrets = ["LAMPLIGHTER_APP_SECRET", "LAMPLIGHTER_APP_MASTER_SECRET"]
        for name in secrets { #expect(exported.contains("\(name)=$(openssl rand -hex 16)")) }
        let random = secrets.map { ($0, (0..<4).map { _ in String(UInt32.random(in: 1 << 28 ... .max), radix: 16) }) }
        let deployment = try await Deployment.start(
            append: true, environment: Dictionary(uniqueKeysWithValues: random.map { ($0, $1.joined()) }))
        for name in ["APP_KEY", "APP_BUNDLE_ID"] {
            let value = try #require(deployment.environment["LAMPLIGHTER_" + name])
            #expect(exported.contains("LAMPLIGHTER_\(name)=\(value)"))
        }
        let worker = try await deployment.worker("one")
        defer { worker.kill() }
        let steps = try Self.steps(blocks)
        #expect(steps.count >= 15)
        for step in steps {
            let command = step.command.replacing("http://127.0.0.1:8080", with: deployment.gatewayURL)
                .replacing("http://127.0.0.1:8444", with: deployment.controlURL)
            let output = try await deployment.shell(command)
            guard let shown = step.output else {
                #expect(output.code == 0, "\(command): \(output.err)")
                continue
            }
            // A refusal prints nothing on stdout. The tests also run with Valkey, the README shows Redis.
            let came = (output.out.isEmpty ? output.err : output.out).replacing("Valkey", with: "Redis")
            #expect(Self.isShown(came, as: shown), "$ \(command)\n\(came)\nis shown as\n\(shown)")
        }
        // The README says this in words: each token and the channel got all pushes in order, and the last state.
        let record = try await deployment.record()
        for field in ["out_of_order", "after_end", "duplicates"] { #expect(record[field] as? Int == 0) }
    }

    @Test func `the simulator announces what the README exports`() async throws {
        let directory = try temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let simulator = try Program(
            [Program.path, "simulate", "--port", "0", "--directory", directory + "/.simulator"], directory: directory,
            environment: [:])
        defer { simulator.kill() }
        try await eventually("the announcement") { simulator.out.contains("/simulator/record") }
        let shown = try #require(try Self.blocks().first { $0.text.hasPrefix("APNs simulator at") })
        #expect(Self.isShown(simulator.out, as: shown.text), "\(simulator.out)")
    }

    // MARK: Reading

    private struct Block {
        var language: String
        var text: String
    }

    private static func blocks() throws -> [Block] {
        let text = try Repository.text("README.md")
        let tour = try #require(text.firstMatch(of: #/\n## A tour\n([\s\S]*?)\n## /#)).1
        return tour.matches(of: /```(\w*)\n([\s\S]*?)```/).map { Block(language: String($0.1), text: String($0.2)) }
    }

    private static func steps(_ blocks: [Block]) throws -> [Step] {
        var steps: [Step] = []
        for (index, block) in blocks.enumerated() {
            if processes.contains(where: block.text.hasPrefix) { continue }
            switch block.language {
            case "sh":
                let next = index + 1 < blocks.count ? blocks[index + 1] : nil
                steps.append(Step(command: block.text, output: next?.language == "json" ? next?.text : nil))
            case "":
                for part in ("\n" + block.text).components(separatedBy: "\n$ ").dropFirst() {
                    steps.append(step(part))
                }
            default: break
            }
        }
        return steps
    }

    /// A command continues in indented lines. The rest is its output.
    private static func step(_ text: String) -> Step {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let rest = lines.dropFirst().drop { $0.hasPrefix("  ") }
        let output = rest.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        let command = lines.dropLast(rest.count).joined(separator: "\n")
        return Step(command: command, output: output.isEmpty ? nil : output)
    }

    // MARK: Comparing

    /// The character … stands for any text.
    private static func isShown(_ came: String, as shown: String) -> Bool {
        let (came, shown) = (normalized(came), normalized(shown))
        guard shown.contains("…") else { return came == shown }
        var rest = came[...]
        for (index, part) in shown.components(separatedBy: "…").enumerated() {
            let part = part.trimmingCharacters(in: .whitespaces)
            guard let found = part.isEmpty ? rest.startIndex..<rest.startIndex : rest.range(of: part),
                index > 0 || found.lowerBound == rest.startIndex
            else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.isEmpty || shown.hasSuffix("…")
    }

    /// Patterns for text that differs from run to run, and their replacements.
    private static let changing = [
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID"), ("(redis://127.0.0.1:6379/0|unix://[^\\s:]+)", "REDIS"),
        ("https?://127\\.0\\.0\\.1:[0-9]+", "ADDRESS"), ("=\\S*\\.simulator/", "=DIRECTORY/"),
        ("Redis [0-9]+\\.[0-9]+\\.[0-9]+", "Redis VERSION"), ("-?[0-9]+(\\.[0-9]+)? m?s\\b", "TIME"),
        ("[0-9]+ MB", "SIZE"), ("[A-Za-z0-9+/]{22}==", "CHANNEL"),
        // The queues and workers of one app with one worker.
        ("\nshop( +[0-9]+){4}", "\nshop NUMBERS"), ("\n\\S+-[0-9a-f]{8} +[0-9]+ +\\S[^\n]*$", "\nWORKER"),
        (" +", " "), (" \n", "\n"),
    ]

    private static func normalized(_ text: String) -> String {
        changing.reduce(text.trimmingCharacters(in: .whitespacesAndNewlines)) { text, change in
            text.replacingOccurrences(of: change.0, with: change.1, options: .regularExpression)
        }
    }
}
