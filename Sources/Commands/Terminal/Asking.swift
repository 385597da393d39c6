import Answers
import ArgumentParser

/// The question before a change that nobody can undo. Scripts are not asked.
struct Asking: ParsableArguments {
    @Flag(help: "Do not ask. A question comes only on a terminal.") var yes = false

    /// Asks a person on a terminal.
    /// - Parameters:
    ///   - question: begins with the verb, and says how many it is about; nil: there is nothing to ask
    ///   - kept: what a no leaves as it was, such as `nothing was removed`
    /// - Throws: with code 1 for a no
    func confirm(_ question: () async throws -> String?, kept: String) async throws {
        guard !yes, Terminal.isForPerson, let question = try await question() else { return }
        guard Terminal.confirm(question) else { throw CommandFailure(.failed, kept) }
    }
}

extension GatewayClient {
    /// A count for a question.
    /// - Returns: nil if the gateway refuses to tell: the change itself then says why
    func count<Body: AnswerBody, Count>(_ request: GatewayRequest, _ count: (Body) -> Count) async throws -> Count? {
        do {
            return count(try Self.decode(try await send(request)))
        } catch let failure as CommandFailure where failure.refusal != nil {
            return nil
        }
    }
}
