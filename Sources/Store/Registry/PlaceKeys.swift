/// The keys of a place in one app.
struct PlaceKeys: Sendable {
    let key: RegistryMemory.Key
    /// The hash tag of all of them.
    let tag: String
    var span: RegistryRecord.Span { key.tokens.span }
}
