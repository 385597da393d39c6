import ArgumentParser

enum CommandList {
    /// The processes of a deployment, and the stand-in for Apple's server.
    static let running: [any ParsableCommand.Type] = [ServeCommand.self, WorkCommand.self, SimulateCommand.self]
}
