/// A provider's signing key as APNs knows it.
public struct ProviderKey: Sendable, Hashable {
    /// The JWT's `kid`.
    public var keyID: String
    /// The JWT's `iss`.
    public var teamID: String
    public var material: Material
    /// Bundle ids of the team. Empty means any.
    public var bundleIDs: [String]
    /// The environment that the key is for. Nil: both, as Apple's older keys are.
    public var environment: Environment?

    public enum Environment: String, Sendable, Hashable, CaseIterable { case production, sandbox }

    public enum Material: Sendable, Hashable {
        /// The PEM text of a P-256 key, public (`PUBLIC KEY`) or private (Apple's `.p8`). Only the public half is used.
        case pem(String)
        /// A file with such text.
        case file(String)
    }

    public init(
        keyID: String, teamID: String, material: Material, bundleIDs: [String] = [], environment: Environment? = nil
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.material = material
        self.bundleIDs = bundleIDs
        self.environment = environment
    }
}
