package struct PlaceKeys: Sendable {
    package let key: RegistryMemory.Key
    package let tag: String

    package init(key: RegistryMemory.Key, tag: String) {
        self.key = key
        self.tag = tag
    }

    package var span: RegistryRecord.Span { key.tokens.span }
}
