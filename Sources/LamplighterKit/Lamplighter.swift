public import Foundation

/// Keeps the gateway informed of the Live Activities of this app. Make one at launch, and call `follow` for each type.
///
/// An app holds no app secret: `access` asks the app's backend for a token of this install's own channel.
public final class Lamplighter: Sendable {
    let registrar: Registrar
    package let outbox: Outbox
    private let install: Install
    private let gateway: Gateway

    /// Makes a kit that keeps its files in a directory. On iOS use `init(url:appKey:group:onProblem:access:)`.
    ///
    /// - Parameters:
    ///   - url: the gateway's address.
    ///   - owner: this process, if others share the directory. Its next run has the same.
    ///   - onProblem: is told what a developer should know.
    ///   - access: asks the app's backend for a token or a signature for a channel.
    public convenience init(
        url: URL, appKey: String, directory: URL, owner: String = ProcessInfo.processInfo.processName,
        onProblem: @escaping @Sendable (LamplighterProblem) -> Void = LamplighterProblem.log,
        access: @escaping @Sendable (_ channel: String) async throws -> ChannelAccess
    ) {
        self.init(
            Gateway(url: url, appKey: appKey, clock: .device, access: access), directory: directory,
            store: FileInstallStore(directory: directory), owner: owner, tell: onProblem)
    }

    /// - Parameters:
    ///   - hold: asks iOS to let the app run on, and returns what ends that.
    init(
        _ gateway: Gateway, directory: URL, store: any InstallStore, clock: KitClock = .device,
        owner: String = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName,
        tell: @escaping @Sendable (LamplighterProblem) -> Void,
        hold: @escaping @Sendable () -> @Sendable () -> Void = { {} }
    ) {
        install = Install(store)
        self.gateway = gateway
        outbox = Outbox(
            file: OutboxFile(directory: directory), install: install, gateway: gateway, clock: clock, owner: owner,
            tell: tell, hold: hold)
        registrar = Registrar(outbox, clock: clock)
        // Send what an earlier run left.
        Task { [outbox] in await outbox.wake() }
    }

    /// The channel of this install, for your backend: it may tag it, or follow names for it.
    ///
    /// - Throws: before the first unlock after a start of the phone.
    public var channel: String { get async throws { try await install.id() } }

    /// The broadcast channel of a name, for `pushType: .channel(id)` (iOS 18).
    ///
    /// - Returns: nil if the name has none, or APNs has not made it yet.
    /// - Throws: `LamplighterProblem` if the gateway does not answer or refuses.
    public func broadcastChannel(of name: String) async throws -> String? {
        let reply = await gateway.send(.broadcastChannel(of: name), for: try await channel)
        switch reply {
        case .unreachable(let reason): throw LamplighterProblem(kind: .delayed, description: reason)
        case .answered(let status, _, let body):
            // A 404 of something else on the way says nothing about the name.
            if status == 404, (try? JSONDecoder().decode(Refusal.self, from: body))?.ok == false { return nil }
            guard status == 200, let answer = try? JSONDecoder().decode(BroadcastAnswer.self, from: body) else {
                throw LamplighterProblem(kind: .refused, description: "broadcast channel of \(name): \(status)")
            }
            return answer.broadcast.state == "live" ? answer.broadcast.channel : nil
        }
    }

    /// Tries at once to send what waits. The kit does it by itself when the phone is online again.
    public func retryNow() async { await outbox.retryNow() }
}

/// The gateway's own form of an error.
private struct Refusal: Decodable { var ok: Bool }

private struct BroadcastAnswer: Decodable {
    struct Broadcast: Decodable {
        var state: String
        var channel: String?
    }
    var broadcast: Broadcast
}
