import LiveActivity

/// A number of a feature about each app, from Redis: a gauge of `/metrics`, which other views show too.
public struct FleetCount: Sendable {
    /// The name of the gauge. It begins with `lamplighter_fleet_`.
    public let metric: String
    /// The meaning of the gauge, as in docs/metrics.md.
    public let help: String
    /// The things that it counts, if an operator has to decide about each.
    public let decides: String?
    /// Reads the numbers of these apps, in their order. Nil: the app has none. The last argument is epoch ms of Redis's
    /// clock.
    let read: @Sendable (Store, [AppKey], Int64) async throws(StoreError) -> [Double?]

    init(
        _ metric: String, _ help: String, decides: String? = nil,
        read: @escaping @Sendable (Store, [AppKey], Int64) async throws(StoreError) -> [Double?]
    ) {
        (self.metric, self.help, self.decides, self.read) = (metric, help, decides, read)
    }

    /// The numbers of all features.
    public static let all = ofFeatures
}
