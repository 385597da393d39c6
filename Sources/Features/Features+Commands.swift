import ArgumentParser

extension Lamplighter {
    static let runCommandsOfFeatures: [any ParsableCommand.Type] = [
        SimulateCommand.self
    ]
    static let publishCommandsOfFeatures: [any ParsableCommand.Type] = [
        ApprovalCommand.self,
        SketchCommand.self,
    ]
    static let operateCommandsOfFeatures: [any ParsableCommand.Type] = [
        ArchiveCommand.self,
        BackupCommand.self,
        RestoreCommand.self,
        SumsCommand.self,
        TestDeviceCommand.self,
        WatchCommand.self,
    ]
}

extension ProcessFeature {
    static let ofFeatures: [ProcessFeature] = [
        appAttest,
        approval,
        export,
        numbers,
        openID,
        webhooks,
    ]
}

extension EventsPart {
    static let ofFeatures: [EventsPart] = [
        webhooks
    ]
}

extension StatusLine {
    static let ofFeatures: [StatusLine] = [
        webhooks,
        intake,
    ]
}
