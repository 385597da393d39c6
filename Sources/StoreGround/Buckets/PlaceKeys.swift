package import LiveActivity

/// A name or an attributes type of an app, as calls of the registry need it.
package struct PlaceKeys: Sendable {
    package let key: RegistryMemory.Key
    package let tag: String

    package var lifetime: RegistryRecord.Lifetime { key.tokens.lifetime }

    /// Whether the place is a large name, if it has so many buckets.
    package func isLarge(_ count: BucketCount) -> Bool {
        !key.tokens.isForStartTokens && count.buckets >= BucketCount.large
    }
}

extension Keyspace {
    package func place(_ app: AppKey, _ tokens: TokenPlace) -> PlaceKeys {
        PlaceKeys(key: RegistryMemory.Key(app: app, tokens: tokens), tag: tag(app, tokens))
    }
}
