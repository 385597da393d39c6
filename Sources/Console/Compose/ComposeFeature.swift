/// The part that a feature adds to Compose. `ofFeatures` lists them.
struct ComposeFeature: Sendable {
    /// The name of its buttons. Empty: it has none.
    var button = ""
    /// Acts on the form when one of the feature's buttons is pressed. The text is the button's value.
    var press: @Sendable (String, Draft, Visit) async throws -> ConsoleResponse = { _, draft, _ in
        .redirect(draft.path())
    }
    /// Markup of its own template, below the buttons that publish. It is about this name. Empty: none.
    var markup: @Sendable (Visit, String) async -> String
    /// Publishes that it holds. Nil: it holds none.
    var held: HeldPage?
}
