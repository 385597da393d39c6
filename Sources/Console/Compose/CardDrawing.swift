/// A feature's drawing of the cards of an attributes type, in place of the console's own.
struct CardDrawing: Sendable {
    /// Markup of the feature's own template.
    let markup: @Sendable (Card) -> String

    /// Finds the drawing of an attributes type. Nil: the feature has none.
    typealias Finder = @Sendable (Visit, String) async -> CardDrawing?
}

extension Visit {
    /// The drawing that features have for cards of this type. Nil: none.
    func drawing(_ type: String?) async -> CardDrawing? {
        guard let type else { return nil }
        for find in CardDrawing.ofFeatures {
            if let drawing = await find(self, type) { return drawing }
        }
        return nil
    }

    /// Markup for a page that another template makes.
    func markup(_ template: String, _ values: Values) -> String { console.templates.render(template, values) }
}
