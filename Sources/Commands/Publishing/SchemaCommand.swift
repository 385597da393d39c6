import Answers
import ArgumentParser
import LiveActivity
import StrictJSON

struct SchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "schema", "Register, list, show or delete the schemas of attributes types.",
        details: """
            The gateway refuses a publish whose content state or attributes do not match the schema. APNs would accept \
            it, but no card would change. The file holds
            {"content_state": {JSON Schema}, "attributes": {JSON Schema}, "names": ["match-*"]}.
            """,
        examples: "schema set MatchAttributes match.schema.json", "schema list", "schema show MatchAttributes",
        subcommands: [Set.self, List.self, Show.self, Delete.self])

    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Register the schema of an attributes type.", examples: "schema set MatchAttributes match.schema.json")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type: the name of the app's ActivityAttributes.") var type: String
        @Argument(help: "The file. A dash reads stdin.") var file: String

        func run() async throws {
            let text = try InputText.file(file, "schema")
            try await gateway.call(.put("/api/schemas/\(type)", .raw(Array(text.utf8))))
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the attributes types that have a schema.", examples: "schema list")

        @OptionGroup var gateway: GatewayOptions

        var request: GatewayRequest { .get("/api/schemas") }
        func lines(_ answer: SchemasAnswer) -> [String] {
            Table.list(
                answer.schemas, nothing: "no schemas", .text("TYPE", \.attributesType), .text("CHECKS", \.parts),
                .text("NAMES", \.shownNames))
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Show the schema of an attributes type as it was registered.", examples: "schema show MatchAttributes")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type.") var type: String

        func run() async throws {
            Terminal.print(json: try await gateway.client().send(.get("/api/schemas/\(type)")))
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Delete the schema of an attributes type. Its publishes are not checked any more. It asks first on a terminal.",
            examples: "schema delete MatchAttributes")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "The attributes type.") var type: String
        @OptionGroup var asking: Asking

        func run() async throws {
            let question = "Delete the schema of \(type)? 'schema show' prints it, so that it can be kept."
            try await asking.confirm({ question }, kept: "nothing was deleted")
            try await gateway.call(.delete("/api/schemas/\(type)"))
        }
    }
}

extension ListedSchemaAnswer {
    fileprivate var parts: String {
        [contentState ? "content state" : nil, attributes ? "attributes" : nil].compactMap(\.self).joined(
            separator: ", ")
    }
    fileprivate var shownNames: String {
        ((try? [String](answer: JSONDocument(names.bytes).root)) ?? []).joined(separator: " ")
    }
}
