public import APNsWire
internal import Curl
internal import LiveActivity
public import Logging

/// Sends broadcasts of one app: one request a push, whatever the number of devices behind the channel. A lane of its own
/// carries them, so that a broadcast never waits behind a page of tokens; all that lanes do for pages (deadlines, another
/// connection, a provider token that expired) is done here too.
public final class BroadcastSender: Sendable {
    private let lane: LaneMailbox

    /// `configuration.origin` is the push service's; `lanes` does not matter.
    public init(configuration: APNsConfiguration, logger: Logger) throws(APNsClientError) {
        let key = try configuration.check()
        let settings = LaneSettings(
            endpoint: Endpoint(
                origin: configuration.origin, caFile: configuration.caFile,
                requestTimeoutMilliseconds: max(1, Int(configuration.requestTimeout / .milliseconds(1)))),
            maximumStreams: configuration.maximumStreams,
            tokens: ProviderTokenSource(keyID: configuration.keyID, teamID: configuration.teamID, key: key),
            logger: logger)
        guard let mailbox = LaneMailbox(),
            NamedThread.start("apns-broadcast", { Lane(settings, mailbox).run() })
        else { throw .system("no thread or descriptor for broadcasts") }
        lane = mailbox
    }

    deinit { lane.beginClosing() }

    /// Returns within two request deadlines. Never throws: no answer is an outcome as well.
    public func send(_ broadcast: PreparedBroadcast) async -> PushOutcome {
        var page = TokenPage()
        page.append(channel: CollectionOfOne(0), token: CollectionOfOne(0), registeredAt: 0)
        let single = page
        let outcome: PageOutcome = await withCheckedContinuation { continuation in
            let request = PageRequest(page: single, push: .broadcast(broadcast), continuation: continuation)
            if !lane.post(request) { continuation.resume(returning: PageOutcome(all: single, Self.cancelled)) }
        }
        return outcome.exceptions.first?.outcome ?? .accepted
    }

    private static let cancelled = PushOutcome.unanswered(.init(.cancelled, mayHaveBeenDelivered: false))

    /// Waits for what is in flight, within its deadline; later broadcasts come back as cancelled.
    public func close() async {
        lane.beginClosing()
        await lane.waitForEnd()
    }
}
