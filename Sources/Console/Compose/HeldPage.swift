import StrictJSON

/// The words and steps of the console about publishes that a feature holds (`held` in the answers of the API).
struct HeldPage: Sendable {
    /// The word of `held`.
    let word: String
    /// The button of the question, in place of a publish's, and the sentence beside it.
    let button, hint: String
    /// The sentence after it was asked for.
    let notice: Notice
    /// The sentence about a test send that waits too.
    let test: String
    /// The page of one, by its id.
    let path: @Sendable (_ id: String) -> String
    /// The fields of one, so that Compose can change it. The place is what stands behind the word in `held`.
    let copied: @Sendable (_ place: String, Visit) async throws -> CopiedPush
    /// Puts another push into its place.
    /// - Parameter time: when it is to go out, as the API takes it. Nil: at once.
    let change: @Sendable (_ place: String, _ push: JSON, _ time: String?, Visit) async throws -> ConsoleResponse

    /// The page that a feature has for its word. Nil: no feature of this version has the word.
    static func of(_ word: String?) -> HeldPage? {
        ComposeFeature.ofFeatures.lazy.compactMap(\.held).first { $0.word == word }
    }

    /// The page and the place of a field or a parameter `held`: `WORD/PLACE`.
    static func place(_ held: String?) -> (page: HeldPage, place: String)? {
        guard let held, let slash = held.firstIndex(of: "/"), let page = of(String(held[..<slash])) else { return nil }
        return (page, String(held[held.index(after: slash)...]))
    }
}
