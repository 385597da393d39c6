import Answers
import ArgumentParser

struct SettingsCommand: GatewayCommand {
    static let configuration = CommandConfiguration(
        name: "settings", "List the settings that the gateway uses, and where each comes from.",
        details: """
            Secrets are not shown. Other processes may have been started with other settings, and 'lamplighter reload' \
            makes all of them read their configuration again. With a part of a name, only the settings with it are listed.
            """,
        examples: "settings", "settings pushes.", "settings --json")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "A part of the setting's name.") var part: String?

    var request: GatewayRequest { .get("/api/settings") }
    func lines(_ answer: SettingsAnswer) -> [String] {
        let shown = answer.settings.filter { part.map($0.name.contains) ?? true }
        return Table.list(
            shown, nothing: "no setting has that in its name", .text("SETTING", \.name),
            .text("VALUE") { $0.value ?? ($0.secret ? "(secret)" : "") }, .text("FROM", \.source))
    }
}
