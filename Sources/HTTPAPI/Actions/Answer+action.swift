import LiveActivity
import Store

extension Answer {
    /// Subjects that have another name in the path.
    private static let parameterSubjects = Dictionary(
        uniqueKeysWithValues: [("user", .namedUser), ("credential", .credential)] + subjectsOfFeatures)

    /// The entry of the log of actions for the call that has this answer.
    /// - Parameter parameters: of the path
    func action(
        _ kind: ActionKind, _ caller: Publisher, _ operation: String, _ parameters: [String: String]
    ) -> Action {
        var action = Action(
            kind.rawValue, credential: caller.credential, address: caller.address, who: caller.who,
            whoID: caller.whoID, operation: operation, subjects: subjects, count: count)
        for (name, text) in parameters {
            let subject = Action.Subject(rawValue: name) ?? Self.parameterSubjects[name]
            if let subject { action.subjects[subject] = text }
        }
        return action
    }
}
