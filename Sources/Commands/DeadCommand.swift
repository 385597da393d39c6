import ArgumentParser

/// `lamplighter dead`: quarantined tokens and given-up work.
struct DeadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead",
        abstract: "Not built yet: release or discard quarantined tokens.",
        discussion:
            "It will list what the prune guard holds back, and release or discard it. It ends with exit code 1 now.")

    @OptionGroup var global: GlobalOptions
    @Argument(parsing: .allUnrecognized, help: .hidden)
    var rest: [String] = []

    func run() throws {
        throw CommandFailure(.failed, "'dead' is not built yet: nothing was listed, released or discarded")
    }
}
