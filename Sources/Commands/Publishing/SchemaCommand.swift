import ArgumentParser
import Curl

/// `lamplighter schema`: manages the schemas of content states and attributes.
struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Register, list, show or delete the schemas of attributes types.",
        discussion: """
            A publish whose content state or attributes do not match is refused: APNs would take it, and no card would \
            change. The file holds {"content_state": {JSON Schema}, "attributes": {JSON Schema}, "names": ["match-*"]}.

            Examples:
              lamplighter schema set MatchAttributes match.schema.json
              lamplighter schema list
              lamplighter schema show MatchAttributes
            """,
        subcommands: [SchemaSetCommand.self, SchemaList.self, SchemaShow.self, SchemaDelete.self])

    static func path(_ type: String) -> String { "/api/schemas/\(GatewayClient.segment(type))" }
}

struct SchemaSetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "set", abstract: "Register the schema of a type.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "The attributes type: the name of the app's ActivityAttributes.")
    var type: String
    @Argument(help: "The file; - for stdin.")
    var file: String

    func run() async throws {
        let text = try InputText.read(file == "-" ? "-" : "@" + file, "schema")
        let answer = try await gateway.client(global).send(
            "PUT", SchemaCommand.path(type), body: .bytes(Array(text.utf8)))
        if global.json { Terminal.print(json: answer) }
    }
}

struct SchemaList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "The types that have one.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    func run() async throws {
        let answer = try await gateway.client(global).send("GET", "/api/schemas")
        if global.json { return Terminal.print(json: answer) }
        var table = Table(.left, .left, .left)
        for schema in try GatewayClient.decode(Listing.self, answer).schemas {
            let parts = [schema.content_state ? "content state" : nil, schema.attributes ? "attributes" : nil]
            table.add(
                schema.attributes_type, parts.compactMap { $0 }.joined(separator: ", "),
                schema.names.joined(separator: " "))
        }
        table.print()
    }

    private struct Listing: Decodable {
        struct Entry: Decodable {
            var attributes_type: String
            var content_state: Bool
            var attributes: Bool
            var names: [String]
        }
        var schemas: [Entry]
    }
}

struct SchemaShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "A type's schema as it was set.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "The attributes type.")
    var type: String

    func run() async throws {
        Terminal.print(json: try await gateway.client(global).send("GET", SchemaCommand.path(type)))
    }
}

struct SchemaDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Take a type's schema away: nothing is compared any more.")

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "The attributes type.")
    var type: String

    func run() async throws {
        _ = try await gateway.client(global).send("DELETE", SchemaCommand.path(type))
        if global.json { Terminal.print(#"{"ok":true}"#) }
    }
}
