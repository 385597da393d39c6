public enum RegistrationResult: Sendable, Hashable {
    /// Stored: the registration is new, or not older than the stored one.
    case stored
    /// Nothing changed: a newer update was there, or the registration is past its life. No error for a device.
    case stale
}
