/// The lines of the lists that approval adds.
extension CredentialScope {
    static let approval: [CredentialScope] = [propose, approve]

    /// The rights of `publish`, but publishes that the app's rule names wait for the approval of a second person
    /// (`ApprovalRule`).
    public static let propose = CredentialScope(
        "propose", "the same, but a second person approves it", standsFor: "publish", isOfMaster: true)
    public static let approve = CredentialScope(
        "approve", "approve what others propose", isOfMaster: true, mayPreview: true)
}

extension Set<CredentialScope> {
    /// Whether publishes wait for a second person, as far as the app's rule names them.
    public var mustPropose: Bool { contains(.propose) && !contains(.publish) }
}
