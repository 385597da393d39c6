import LiveActivity
import OpenSSL

/// The id by which Airship's SDK knows the user behind a channel. It is derived from the named user, or else from the
/// channel. So every gateway gives the same id, and the channels of one user have one contact.
struct ContactID: Sendable, Hashable, CustomStringConvertible {
    let uuid: UUIDBytes

    init(of app: AppKey, namedUser: String) { self.init(app, "user", namedUser) }
    init(of app: AppKey, anonymous channel: ChannelID) { self.init(app, "channel", channel.description) }

    /// Reads the form that paths and tokens use, in either case.
    init?(_ text: some StringProtocol) {
        guard let uuid = UUIDBytes(text) else { return nil }
        self.uuid = uuid
    }

    private init(_ app: AppKey, _ kind: String, _ value: String) {
        let text = ["lamplighter contact 1", app.rawValue, kind, value].joined(separator: "\u{0}")
        uuid = .named(by: SHA256Digest(of: text.utf8))
    }

    var description: String { uuid.description }
    /// A token for this opens the calls about the contact.
    var purpose: TokenPurpose { TokenPurpose(claim: "contact", value: description) }
}
