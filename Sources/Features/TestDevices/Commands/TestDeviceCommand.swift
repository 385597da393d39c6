import Answers
import ArgumentParser
import StrictJSON

struct TestDeviceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "test-device",
        "Add, list or remove test devices: Compose in the console sends a push to one of them first.",
        examples: "test-device add anna 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1", "test-device list",
        "test-device remove anna", subcommands: [Add.self, List.self, Remove.self], defaultSubcommand: List.self)

    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Name a test device, or give the name to another one.",
            examples: "test-device add anna 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "What people call it.") var name: String
        @Argument(help: "Id of the channel.") var channel: String

        func run() async throws {
            try await gateway.call(
                .put("/api/test-devices/\(name)", ["channel_id": .string(channel)]), done: "\(name) is a test device")
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration("List the test devices.", examples: "test-device list")

        @OptionGroup var gateway: GatewayOptions

        var request: GatewayRequest { .get("/api/test-devices") }
        func lines(_ answer: TestDevicesAnswer) -> [String] {
            Table.list(
                answer.testDevices, nothing: "no test devices", .text("NAME", \.name), .id("CHANNEL", \.channelID))
        }
    }

    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Remove a test device. What it follows stays.", examples: "test-device remove anna")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "What people call it.") var name: String

        func run() async throws {
            try await gateway.call(.delete("/api/test-devices/\(name)"), done: "\(name) is removed")
        }
    }
}
