import Answers
import LiveActivity

/// The words of pages for the caller of an action. People choose their names, so names are marked: somebody may be
/// called `master secret`.
enum Caller {
    static func text(_ credential: String, _ who: String?) -> String {
        who == nil && credential == "master" ? "master secret" : Publisher.shown(credential, who)
    }

    /// The publisher of a push, with the second person.
    static func text(_ by: PublisherAnswer) -> String {
        text(by.credential, by.who) + (second(by).map { ", second person \($0)" } ?? "")
    }

    /// The second person of a push. Nil: it had none.
    static func second(_ by: PublisherAnswer?) -> String? {
        (by?.second).map { text($0.credential, $0.who) }
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
