import ArgumentParser

extension Lamplighter {
    static let operateCommandsOfFeatures: [any ParsableCommand.Type] = [
        BackupCommand.self,
        RestoreCommand.self,
    ]
}
