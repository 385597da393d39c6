public import APNsWire
internal import LiveActivity
public import Logging

/// Sends broadcasts of one app: one request a push, whatever the number of devices behind the channel. A lane of its own
/// carries them, so that a broadcast never waits behind a page of tokens; all that lanes do for pages (deadlines, another
/// connection, a provider token that expired) is done here too.
public final class BroadcastSender: Sendable {
    private let lane: LanePool

    /// `configuration.origin` is the push service's; `lanes` does not matter.
    public convenience init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        try self.init(try LaneSettings(configuration, logger))
    }

    init(_ settings: LaneSettings) throws(APNsClientError) {
        lane = try LanePool(1, name: "apns-broadcast") { seat in { Lane(settings, seat).run() } }
    }

    /// Returns within two request deadlines. Never throws: no answer is an outcome as well.
    public func send(_ broadcast: PreparedBroadcast) async -> PushOutcome {
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: CollectionOfOne(0), registeredAt: 0)
        return await lane.send(page, .broadcast(broadcast)).exceptions.first?.outcome ?? .accepted
    }

    /// Waits for what is in flight, within its deadline; later broadcasts come back as cancelled.
    public func close() async { await lane.close() }
}
