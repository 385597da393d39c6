import Answers
import LiveActivity

/// The words of pages for the caller of an action. People choose their names, so names are marked: somebody may be
/// called `master secret`.
enum Caller {
    static func text(_ credential: String, _ who: String?) -> String {
        who == nil && credential == "master" ? "master secret" : Publisher.shown(credential, who)
    }

    /// Whether somebody is the reader of the page: the same person, or the same credential.
    static func isReader(_ by: PublisherAnswer?, _ visit: Visit) -> Bool {
        guard let by else { return false }
        let (identity, master) = (visit.session.identity, "master")
        if by.whoID != nil || identity.person != nil { return by.whoID == identity.person?.subject }
        return by.credential == identity.credentialID ?? master
    }

    /// The title beside a person's name. Nil: it was no person.
    static func id(_ whoID: String?) -> String? { whoID.map { "id at the provider: \($0)" } }
}
