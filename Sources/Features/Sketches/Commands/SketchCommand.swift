import Answers
import ArgumentParser
import LiveActivity
import StrictJSON

struct SketchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "sketch", "Set, list, show or delete sketches: how the console draws the cards of an attributes type.",
        details: """
            The file holds {"card": …} in the language of docs/features/sketches.md: rows and columns of texts, symbols, \
            bars and timers. The app draws its own cards; a sketch only helps people who compose a push.
            """,
        examples: "sketch set MatchAttributes match.sketch.json", "sketch list", "sketch show MatchAttributes",
        subcommands: [Set.self, List.self, Show.self, Delete.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Set the sketch of an attributes type.", examples: "sketch set MatchAttributes match.sketch.json")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type: the name of the app's ActivityAttributes.") var type: String
        @Argument(help: "The file. A dash reads stdin.") var file: String

        func run() async throws {
            let text = try InputText.file(file, "sketch")
            try await gateway.call(.put("/api/sketches/\(type)", .raw(Array(text.utf8))))
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the attributes types that have a sketch.", examples: "sketch list")

        @OptionGroup var gateway: GatewayOptions

        var request: GatewayRequest { .get("/api/sketches") }
        func lines(_ answer: SketchesAnswer) -> [String] {
            Table.list(answer.sketches, nothing: "no sketches", .text("TYPE", \.attributesType))
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Show the sketch of an attributes type as it was set.", examples: "sketch show MatchAttributes")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type.") var type: String

        func run() async throws {
            Terminal.print(json: try await gateway.client().send(.get("/api/sketches/\(type)")))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete the sketch of an attributes type. It asks first on a terminal.",
            examples: "sketch delete MatchAttributes")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type.") var type: String
        @OptionGroup var asking: Asking

        func run() async throws {
            let question = "Delete the sketch of \(type)? 'sketch show' prints it, so that it can be kept."
            try await asking.confirm({ question }, kept: "nothing was deleted")
            try await gateway.call(.delete("/api/sketches/\(type)"))
        }
    }
}
