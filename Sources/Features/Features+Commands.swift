import ArgumentParser

extension Lamplighter {
    static let runCommandsOfFeatures: [any ParsableCommand.Type] = [
        SimulateCommand.self
    ]
    static let operateCommandsOfFeatures: [any ParsableCommand.Type] = [
        BackupCommand.self,
        RestoreCommand.self,
        WatchCommand.self,
    ]
}
