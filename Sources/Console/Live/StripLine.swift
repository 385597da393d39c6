import Answers

/// A line of the strip about what waits for somebody on a feature's page.
struct StripLine: Sendable {
    /// The scope with which a person can do something about it. Others do not see the line.
    let scope: CredentialScope
    /// The words behind one, and behind several.
    let one, many: String
    /// The words that lead to the page.
    let link: String
}
