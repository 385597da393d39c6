extension CredentialScope {
    static let ofFeatures: [[CredentialScope]] = [
        approval
    ]
}
