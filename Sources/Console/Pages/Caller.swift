import LiveActivity

/// The words of pages for the caller of an action. People choose their names, so names are marked: somebody may be
/// called `master secret`.
enum Caller {
    static func text(_ credential: String, _ who: String?) -> String {
        who == nil && credential == "master" ? "master secret" : Publisher.shown(credential, who)
    }

    /// The title beside a person's name. Nil: it was no person.
    static func id(_ whoID: String?) -> String? { whoID.map { "id at the provider: \($0)" } }
}
