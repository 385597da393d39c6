/// A line of the strip about what waits for the reader on a feature's page.
struct StripLine: Sendable {
    /// The path of the page, with the query that shows what waits.
    let place: String
    /// The words behind one, and behind several.
    let one, many: String
    /// The words that lead to the page.
    let link: String
}
