import ArgumentParser

/// `lamplighter push`: shows the outcome of a publish.
struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Show the ledger of a push; wait for its end, or cancel what is unsent.",
        discussion: """
            Examples:
              lamplighter push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10
              lamplighter push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --wait --json
              lamplighter push 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --cancel
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var gateway: GatewayOptions

    @Argument(help: "Id of the push, as 'publish' printed it.")
    var id: String
    @Flag(name: .long, help: "Wait until every token has an outcome.")
    var wait = false
    @Flag(name: .long, help: "Cancel what is unsent.")
    var cancel = false

    func run() async throws {
        let client = try gateway.client(global)
        let path = "/api/push/\(GatewayClient.segment(id))"
        if cancel {
            let answer = try await client.send("DELETE", path)
            if !wait {
                // A 204 has no body, so the ledger is read separately.
                let ledger = answer.isEmpty ? try await client.send("GET", path) : answer
                return try show(ledger)
            }
        }
        if wait {
            return try await PushWatch(client: client, pushID: GatewayClient.segment(id)).report(json: global.json)
        }
        try show(try await client.send("GET", path))
    }

    private func show(_ body: [UInt8]) throws {
        if global.json { return Terminal.print(json: body) }
        try GatewayClient.decode(LedgerReport.self, body).lines.forEach(Terminal.print)
    }
}
