import Answers
import ArgumentParser
import StrictJSON

struct PauseCommand: GatewayCommand {
    static let configuration = CommandConfiguration(
        name: "pause", "Stop sending for the app or for a name. Pushes are accepted and kept.",
        details: """
            Workers stop within a second; pages that are on their way are finished. What is kept expires as always: an \
            update or an end after 8 hours, a start after one, or as their expiry says.
            """,
        examples: "pause", "pause match-42", "pause --list")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without it, the whole app.", completion: .names) var name: String?
    @Flag(help: "Only list what is paused.") var list = false

    var request: GatewayRequest { list ? .get("/api/pauses") : .post("/api/pause", pausedName(name)) }
    func lines(_ answer: PausesAnswer) -> [String] { answer.lines }
}

struct ResumeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        name: "resume", "Send again for a paused app or name, and send what was kept.",
        examples: "resume", "resume match-42")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Name of the activity. Without it, the whole app.", completion: .names) var name: String?

    func run() async throws {
        do {
            try await gateway.call(.post("/api/resume", pausedName(name))) { (answer: PausesAnswer) in answer.lines }
        } catch let failure as CommandFailure where failure.refusal?.status == 404 {
            let what = name.map { "the name \($0)" } ?? "the app"
            throw CommandFailure(.failed, "\(what) is not paused: 'lamplighter pause --list' shows what is")
        }
    }
}

extension PausesAnswer {
    fileprivate var lines: [String] {
        paused.isEmpty
            ? ["nothing is paused"] : paused.map { "paused: \($0.name ?? "the whole app"), since \($0.since)" }
    }
}

/// The body of a pause or a resumption.
private func pausedName(_ name: String?) -> JSON { name.map { ["name": .string($0)] } ?? .object([]) }
