/// A contact, as Airship's SDK knows it.
public struct ContactAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let contactID: String
    public let isAnonymous: Bool
    public let associatedAt: String

    public init(contactID: String, isAnonymous: Bool, associatedAt: String) {
        (self.contactID, self.isAnonymous, self.associatedAt) = (contactID, isAnonymous, associatedAt)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ContactAnswer {
        contactID = try fields("contact_id", \.contactID, .operation)
        isAnonymous = try fields("is_anonymous", \.isAnonymous)
        associatedAt = try fields("channel_association_timestamp", \.associatedAt)
    }
}

/// The contact of a device, and a token for it.
public struct IdentifiedAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let contact: ContactAnswer
    public let token: String
    public let tokenExpiresIn: Int

    public init(contact: ContactAnswer, token: String, tokenExpiresIn: Int) {
        (self.contact, self.token, self.tokenExpiresIn) = (contact, token, tokenExpiresIn)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == IdentifiedAnswer {
        try fields.ok()
        contact = try fields("contact", \.contact)
        token = try fields("token", \.token)
        tokenExpiresIn = try fields("token_expires_in", \.tokenExpiresIn)
    }
}
