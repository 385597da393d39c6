import ServiceLifecycle
import TestSupport
import Testing

@testable import HTTPAPI

extension Monitor {
    /// Serves the port of its own while `body` asks it.
    func serving(_ body: @Sendable (_ port: Int) async throws -> Void) async throws {
        let group = ServiceGroup(configuration: .init(services: [.init(service: self)], logger: .quiet))
        async let running: Void = group.run()
        do {
            try await body(try #require(await boundPort()))
        } catch {
            await group.triggerGracefulShutdown()
            throw error
        }
        await group.triggerGracefulShutdown()
        try await running
    }
}
