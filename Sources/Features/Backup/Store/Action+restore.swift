extension ActionKind {
    static let backup: [ActionKind] = [restore]

    /// `lamplighter restore` adds it.
    public static let restore = ActionKind("restore", isOfCall: false)
}

extension Action {
    /// An operator on this machine restored a backup.
    public static func restore(on machine: String) -> Action { ofMachine(.restore, "cli", machine) }
}
