import Answers
import ArgumentParser
import LiveActivity

extension CompletionKind {
    /// The names that begin as the word which a person completes in a shell. Empty if the gateway does not answer.
    static var names: CompletionKind {
        .custom { words, _, prefix in await namesBeginning(prefix, words) }
    }

    private static let most = 200

    @Sendable private static func namesBeginning(_ prefix: String, _ words: [String]) async -> [String] {
        // The shell runs this with the words of the whole line, of which only these matter here.
        var options: [String] = []
        for (option, value) in zip(words, words.dropFirst()) where ["--config", "--url", "--app"].contains(option) {
            options += [option, value]
        }
        guard let client = try? GatewayOptions.parse(options).client(),
            let answer = try? await client.send(
                .get("/api/activities", ["prefix": prefix, "limit": "\(most)"]).within(.seconds(2))),
            let page: ActivitiesAnswer = try? GatewayClient.decode(answer)
        else { return [] }
        // Shells would take other characters apart.
        return page.activities.map(\.name).filter { $0.utf8.allSatisfy { $0.isURLUnreserved } }
    }
}
