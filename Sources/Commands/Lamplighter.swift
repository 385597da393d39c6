public import ArgumentParser
import Glibc
import OpenSSL

/// The program. It parses the command line, runs one subcommand and exits with a code for the result.
public struct Lamplighter: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "lamplighter",
        abstract: "Name a Live Activity once; light every lock screen that follows it.",
        discussion: """
            A publisher sends one update under a name. Lamplighter delivers it through APNs to every device that \
            follows the name, and records an outcome for each.

            Flags override LAMPLIGHTER_… variables, these override the file config/lamplighter.yaml, and that overrides \
            the defaults. 'lamplighter doctor' checks the settings.

            Examples:
              lamplighter serve
              lamplighter work
              lamplighter publish order-1234 --content-state '{"status":"baking"}' --wait

            Exit codes: 0 done, 1 it failed, 64 wrong usage, 69 a service is not reachable, 78 wrong configuration.
            """,
        version: "lamplighter \(Release.version)",
        groupedSubcommands: [
            CommandGroup(name: "Run", subcommands: [ServeCommand.self, WorkCommand.self] + runCommandsOfFeatures),
            CommandGroup(
                name: "Publish",
                subcommands: [
                    PublishCommand.self, PushCommand.self, HistoryCommand.self, TrackCommand.self, UntrackCommand.self,
                    ImportCommand.self, ExportCommand.self, ActivityCommand.self, ScheduleCommand.self,
                    SchemaCommand.self, BroadcastCommand.self,
                ] + publishCommandsOfFeatures),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    StatusCommand.self, SettingsCommand.self, ReloadCommand.self, PauseCommand.self, ResumeCommand.self,
                    ChannelCommand.self, ExplainCommand.self, ForgetCommand.self, EventsCommand.self,
                    DoctorCommand.self, TestSendCommand.self, QuarantineCommand.self,
                    DeadCommand.self, ActionsCommand.self, CredentialCommand.self,
                ] + operateCommandsOfFeatures),
        ])

    public init() {}

    /// Runs the command of the command line and ends the process.
    public static func start() async -> Never {
        // A peer that closes its connection must not end the process either.
        Terminal.prepare()
        // libcurl would write the keys of its TLS sessions into that file, and its reader could read provider tokens.
        // No other thread reads the environment yet.
        unsetenv("SSLKEYLOGFILE")
        OpenSSLLibrary.keepUntilExit()
        var command = await parsed(Array(CommandLine.arguments.dropFirst()))
        do {
            try (command as? any CheckedCommand)?.check()
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
            end(nil)
        } catch {
            if let error = error as? ValidationError { refuse(error.message, of: type(of: command)) }
            guard let failure = CommandFailure(error) else { answer(error) }
            end(failure)
        }
    }

    private static func parsed(_ arguments: [String]) async -> any ParsableCommand {
        do {
            return try await asyncParseAsRoot(arguments)
        } catch {
            // The parser throws for `--help` too.
            if exitCode(for: error) == .validationFailure, let (message, command) = Usage.misunderstood(arguments) {
                refuse(message, of: command)
            }
            answer(error)
        }
    }

    /// Prints an answer of the parser itself, such as help, which it throws too, and ends the process.
    private static func answer(_ error: any Error) -> Never {
        guard exitCode(for: error) == .success else { exit(withError: error) }
        Terminal.put(fullMessage(for: error) + "\n", to: STDOUT_FILENO)
        end(nil)
    }

    private static func end(_ failure: CommandFailure?) -> Never {
        let failures = [failure, Terminal.lostOutput].compactMap(\.self)
        for failure in failures where !failure.message.isEmpty { Terminal.error(failure.message) }
        Glibc.exit((failures.first?.status ?? .done).rawValue)
    }

    private static func refuse(_ message: String, of command: any ParsableCommand.Type) -> Never {
        Terminal.put(Usage.text(message, of: command), to: STDERR_FILENO)
        Glibc.exit(ExitStatus.usage.rawValue)
    }
}
