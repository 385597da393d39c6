struct PlaceKeys: Sendable {
    let key: RegistryMemory.Key
    let tag: String
    var span: RegistryRecord.Span { key.tokens.span }
}
