public import Foundation

/// Keeps the gateway informed of the Live Activities of this app. Make one at launch, and call `follow` for each type.
///
/// An app holds no app secret: `authorize` asks the app's backend for a token of this install's own channel.
public final class Lamplighter: Sendable {
    /// UIKit's constant belongs to the main actor, and an extension has none.
    static let foreground = Notification.Name("UIApplicationDidBecomeActiveNotification")
    static let isApp = Bundle.main.bundleURL.pathExtension != "appex"
    let registrar: Registrar
    package let outbox: Outbox
    private let install: Install
    private let gateway: Gateway
    private let system: String?

    /// Makes a kit that keeps its files in a directory. On iOS use `init(url:appKey:group:onProblem:authorize:)`.
    ///
    /// - Parameters:
    ///   - url: the gateway's address.
    ///   - owner: this process, if others share the directory. Its next run has the same.
    ///   - onProblem: is told what a developer should know.
    ///   - authorize: asks the app's backend for a token or a signature for a channel.
    public convenience init(
        url: URL, appKey: String, directory: URL, owner: String = ProcessInfo.processInfo.processName,
        onProblem: @escaping @Sendable (LamplighterError) -> Void = LamplighterError.log,
        authorize: @escaping @Sendable (_ channel: String) async throws -> ChannelAccess
    ) {
        self.init(
            Gateway(url: url, appKey: appKey, clock: .device, authorize: authorize), directory: directory,
            store: FileInstallStore(directory: directory), owner: owner, tell: onProblem)
    }

    /// - Parameters:
    ///   - system: the version of iOS.
    ///   - isApp: false in an extension.
    ///   - notices: tells that the app came to the foreground.
    ///   - hold: asks iOS to let the app run on, and returns what ends that.
    init(
        _ gateway: Gateway, directory: URL, store: any InstallStore, clock: KitClock = .device,
        owner: String = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName, system: String? = nil,
        isApp: Bool = Lamplighter.isApp, notices: NotificationCenter = .default,
        tell: @escaping @Sendable (LamplighterError) -> Void,
        hold: @escaping @Sendable () -> @Sendable () -> Void = { {} }
    ) {
        install = Install(store)
        (self.gateway, self.system) = (gateway, system)
        outbox = Outbox(
            file: OutboxFile(directory: directory), install: install, gateway: gateway, clock: clock, owner: owner,
            tell: tell, hold: hold)
        registrar = Registrar(outbox, clock: clock, isApp: isApp)
        _ = notices.addObserver(forName: Self.foreground, object: nil, queue: nil) { [outbox, registrar] _ in
            Task {
                await outbox.retryNow()
                await registrar.look()
            }
        }
        // Send the reports that an earlier run left.
        Task { [outbox] in
            if let system { await outbox.device(system) }
            await outbox.wake()
        }
    }

    /// Follows activities that a test plays.
    public func follow(_ activities: SimulatedActivities) async { await registrar.follow(activities) }

    /// The channel of this install, for your backend: it may tag it, or follow names for it.
    ///
    /// - Throws: before the first unlock after a start of the phone.
    public var installID: String { get async throws { try await install.id() } }

    /// The broadcast channel of a name, for `pushType: .channel(id)` (iOS 18).
    ///
    /// - Returns: nil if the name has none, or APNs has not made it yet.
    /// - Throws: `LamplighterError` if the gateway does not answer or refuses.
    public func broadcastChannel(of name: String) async throws -> String? {
        let reply = await gateway.send(.broadcastChannel(of: name), for: try await installID)
        if case .answered(let status, _, _, let body) = reply {
            if status == 200, let answer = try? JSONDecoder().decode(BroadcastAnswer.self, from: body) {
                return answer.broadcast.state == "live" ? answer.broadcast.channel : nil
            }
            // A 404 of something else on the way says nothing about the name.
            if status == 404, GatewayAnswer(body)?.code != nil { return nil }
        }
        switch Fate(reply) {
        case .refused(let words):
            throw LamplighterError(kind: .refused, description: "broadcast channel of \(name): \(words)")
        case .again(_, let reason): throw LamplighterError(kind: .delayed, description: reason)
        case .done, .withoutStart, .receiptsOff:
            throw LamplighterError(kind: .delayed, description: "broadcast channel of \(name): another answer came")
        }
    }

    /// Stops following: the gateway forgets this install's cards and start tokens, and nothing more is reported until
    /// `optIn`, across launches. The cards stay on the phone, and stand still.
    public func optOut() async { await outbox.optOut() }

    /// Follows again, after `optOut`.
    public func optIn() async {
        await outbox.optIn()
        await registrar.repeatAll()
    }

    /// Gives this install another channel, for the next user. Call it before your backend signs the user out, because
    /// it asks for one more token of the last channel. End the user's cards first: a card that stays is the next
    /// user's.
    ///
    /// - Throws: `LamplighterError` if the gateway does not answer now. Then it is as after `optOut`. Call it again.
    public func logOut() async throws {
        await outbox.optOut()
        try await outbox.settle()
        try await install.replace()
        if let system { await outbox.device(system) }
        await registrar.repeatAll()
    }

    /// Tries at once to send what waits, unless the gateway asked to wait. The kit does it by itself when the phone is
    /// online again, and when the app comes to the foreground.
    public func retryNow() async { await outbox.retryNow() }
}

private struct BroadcastAnswer: Decodable {
    struct Broadcast: Decodable {
        var state: String
        var channel: String?
    }
    var broadcast: Broadcast
}
