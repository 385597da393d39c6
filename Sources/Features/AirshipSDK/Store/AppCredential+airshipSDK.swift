extension AppCredential {
    /// The id that calls with a contact's token have in logs.
    static let airshipContact = "contact"
}
