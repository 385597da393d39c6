import LiveActivity

@testable import Store

/// Keys of the app `shop` in Redis, for what no interface shows.
extension Deployment {
    private static let keys = Keyspace(prefix: Keyspace.defaultPrefix)

    /// The key of the block that keeps a push to `name`.
    static func block(ofPush id: PushID, to name: String) throws -> String {
        "\(keys.keptPushes(keys.tag(try AppKey("shop"), try ActivityName(name)), id))"
    }

    /// The key and the field that count the workers that died over a name's phones in retry.
    static func lapsesOfRetries(_ name: String) throws -> String {
        "\(keys.nameLeases(keys.tag(try AppKey("shop"), try ActivityName(name)))) r:c"
    }

    /// The beginning of the keys of provider tokens.
    static func keysOfProviderTokens() throws -> Substring {
        let key = keys.providerToken(try AppKey("shop"), "")
        return "\(key)".dropLast()
    }
}
