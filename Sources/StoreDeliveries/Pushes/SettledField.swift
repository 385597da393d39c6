/// The outcomes of a target, as fields of the ledger.
public enum SettledField: String, Sendable, Hashable, CaseIterable {
    case delivered, pruned, failed, superseded, expired, skipped
}
