import ArgumentParser

enum CommandList {
    /// The processes of a deployment, and the simulator that takes the place of Apple's server.
    static let running: [any ParsableCommand.Type] = [ServeCommand.self, WorkCommand.self, SimulateCommand.self]
}
