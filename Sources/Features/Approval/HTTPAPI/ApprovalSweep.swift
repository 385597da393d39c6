import LiveActivity
import Logging
import ServiceLifecycle
import Store
import Threads

extension GatewayFeature {
    static let approval = GatewayFeature { gateway in [ApprovalSweep(gateway: gateway)] }
}

/// Ends the proposals that nobody decided about in time, and publishes the proposals that a gateway approved before it
/// died. Several gateways do so at once: each step is repeatable.
struct ApprovalSweep: Service {
    private static let interval: Duration = .seconds(15)

    let gateway: GatewayFeature.Running

    func run() async {
        while !Task.isCancelled, !Task.isShuttingDownGracefully {
            let pause = Self.interval * Double.random(in: 0.9..<1.1)
            try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
            if Task.isCancelled || Task.isShuttingDownGracefully { return }
            let parts = gateway.live.current.parts
            for app in parts.configuration.apps { await Self.sweep(parts, app, gateway.clock(), gateway.logger) }
        }
    }

    /// Looks once at the proposals of an app. The next look tries again the proposals that fail.
    /// - Parameter now: epoch ms
    static func sweep(_ parts: GatewayParts, _ app: GatewayApp, _ now: Int64, _ logger: Logger) async {
        let proposals = parts.store.proposals
        do {
            for found in try await proposals.due(app.key, now: now) {
                if found.state == .waiting {
                    var lapsed = found
                    (lapsed.state, lapsed.endedAt) = (.lapsed, now)
                    guard try await proposals.settle(app.key, lapsed, from: found, now: now) else { continue }
                    try await parts.store.actions.add(app.key, [.lapse(lapsed)])
                } else {
                    let publishing = ApprovedPublishing(
                        parts: parts, app: app, operation: UUIDBytes.random().description, now: now)
                    // A proposal that has to wait holds up no other proposal.
                    _ = try? await publishing.finish(found)
                }
            }
        } catch {
            logger.debug("the sweep of proposals waits: \(error)", metadata: ["app": "\(app.key)"])
        }
    }
}
