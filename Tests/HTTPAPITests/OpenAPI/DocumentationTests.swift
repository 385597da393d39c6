import Foundation
import LiveActivity
import Store
import StrictJSON
import TestSupport
import Testing

@testable import HTTPAPI

/// Runs every example of docs/api.md in order against one gateway, with curl as a reader would.
@Suite struct DocumentationTests {
    /// A shell block, the status that follows it, and the response, if one is shown.
    struct Example: Sendable {
        var line: Int
        var script: String
        var status: Int
        var answer: String?
    }

    @Test func `every example answers as docs/api md says`() async throws {
        let examples = try Self.examples()
        #expect(examples.count >= 20)
        let setUp = try await GatewayFixture.setUpOfFeatures()
        try await GatewayFixture.run(
            configure: {
                $0.publicURL = "https://push.example.com"
                $0.apps[0].takesReceipts = true
                $0.apps[0].platforms = [.ios, .android]
                setUp(&$0)
            }
        ) { gateway in
            // The reader of the page has an app that follows this name.
            try await gateway.follow("order-1234")
            var push = ""
            for example in examples {
                let result = try await Shell.run(
                    example.script,
                    environment: [
                        "HOST": "http://127.0.0.1:\(gateway.port)", "KEY": GatewayFixture.key, "PUSH": push,
                        "SECRET": GatewayFixture.secret, "MASTER": GatewayFixture.masterSecret,
                    ])
                #expect(result.status == example.status, "docs/api.md:\(example.line): \(result.body)")
                if let ids = try? JSONDocument(result.body).root.object()["push_ids"]?.array(), let id = ids.first {
                    push = try id.string()
                }
                guard let answer = example.answer else { continue }
                #expect(
                    try Self.shape(result.body) == Self.shape(answer), "docs/api.md:\(example.line): \(result.body)")
            }
        }
    }

    /// The keys of a response with the kinds of their values. For an error, the whole message and path are compared.
    private static func shape(_ text: String) throws -> [String] {
        try JSONDocument(text).root.object().members.map { key, value in
            ["error", "details", "rejected", "accepted", "expires_in"].contains(key)
                ? "\(key)=\(String(decoding: value.raw, as: UTF8.self))"
                : "\(key):\(value.kind == .null ? .string : value.kind)"
        }
    }

    private static func text() throws -> String { try Repository.text("docs/api.md") }

    static func examples() throws -> [Example] {
        var examples: [Example] = []
        var block: (language: String, line: Int, text: String)?
        for (number, line) in try text().split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("```") {
                if let finished = block {
                    if finished.language == "sh" {
                        examples.append(Example(line: finished.line, script: finished.text, status: 0))
                    } else if finished.language == "json", !examples.isEmpty {
                        examples[examples.count - 1].answer = finished.text
                    }
                    block = nil
                } else {
                    block = (String(line.dropFirst(3)), number + 1, "")
                }
            } else if block != nil {
                block?.text += line + "\n"
            } else if line.hasPrefix("→ `"), let status = Int(line.dropFirst(3).prefix(3)), !examples.isEmpty {
                examples[examples.count - 1].status = status
            }
        }
        return examples
    }
}

/// The shell for the examples. It keeps curl's status beside its output.
private enum Shell {
    struct Result: Sendable {
        var status: Int
        var body: String
    }

    static func run(_ script: String, environment: [String: String]) async throws -> Result {
        let output = try await ChildProcess.run(
            [
                "sh", "-euc",
                "curl() { command curl --silent --show-error --write-out '\\n%{http_code}' \"$@\"; }\n" + script,
            ],
            environment: ProcessInfo.processInfo.environment.merging(environment) { $1 })
        let text = output.out
        let cut = text.lastIndex(of: "\n") ?? text.startIndex
        return Result(
            status: Int(text[cut...].dropFirst().prefix { $0.isNumber }) ?? 0,
            body: String(text[..<cut]).trimmingCharacters(in: .whitespacesAndNewlines))
    }
}
