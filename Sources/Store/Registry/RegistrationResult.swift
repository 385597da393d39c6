public enum RegistrationResult: Sendable, Hashable {
    /// Stored: the registration is new, or not older than the stored one.
    case stored
    /// A newer update was there already, or the registration is past its life. Nothing changed. For a device this is no
    /// error.
    case stale
}
