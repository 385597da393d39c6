import Foundation

/// One method at one path below `/console`.
struct Route: Sendable {
    let method: String
    /// Also what logs and metrics show in place of the path.
    let pattern: String
    let handle: @Sendable (Visit) async throws -> ConsoleResponse
    private let parts: [Substring]

    init(_ method: String, _ pattern: String, _ handle: @escaping @Sendable (Visit) async throws -> ConsoleResponse) {
        (self.method, self.pattern, self.handle) = (method, pattern, handle)
        parts = pattern.split(separator: "/")
    }

    static let all: [Route] = [
        Route("GET", "/console", HomePage.show), Route("GET", "/console/live", HomePage.live),
        Route("POST", "/console/pause", HomePage.pause), Route("POST", "/console/sign-out", HomePage.signOut),
        Route("GET", "/console/compose", ComposePage.show), Route("POST", "/console/compose", ComposePage.submit),
        Route("POST", "/console/compose/check", ComposePage.check),
        Route("POST", "/console/compose/publish", ComposePage.publish),
        Route("GET", "/console/templates", TemplatesPage.show),
        Route("POST", "/console/templates/drop", TemplatesPage.drop),
        Route("GET", "/console/pushes", PushesPage.show), Route("GET", "/console/pushes/{push}", PushPage.show),
        Route("GET", "/console/pushes/{push}/live", PushPage.live),
        Route("POST", "/console/pushes/{push}/cancel", PushPage.cancel),
        Route("POST", "/console/pushes/{push}/retry", PushPage.retry),
        Route("POST", "/console/pushes/{push}/drop", PushPage.drop),
        Route("GET", "/console/names", NamesPage.show), Route("GET", "/console/names/{name}", NamePage.show),
        Route("POST", "/console/names/{name}/pause", NamePage.pause),
        Route("POST", "/console/names/{name}/broadcast", NamePage.broadcast),
        Route("GET", "/console/devices", DevicesPage.find), Route("GET", "/console/devices/{device}", DevicesPage.show),
        Route("POST", "/console/devices/{device}/forget", DevicesPage.forget),
        Route("GET", "/console/schedules", SchedulesPage.show),
        Route("POST", "/console/schedules/{schedule}/cancel", SchedulesPage.cancel),
        Route("GET", "/console/broadcasts", BroadcastsPage.show), Route("GET", "/console/dead", DeadPage.show),
        Route("GET", "/console/quarantine", QuarantinePage.show),
        Route("POST", "/console/quarantine", QuarantinePage.decide),
        Route("GET", "/console/actions", ActionsPage.show),
    ]

    static func find(_ method: String, _ path: String) -> (Route, [String: String])? {
        let wanted = method == "HEAD" ? "GET" : method
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let components = parts.last?.isEmpty == true ? parts.dropLast() : parts
        for route in all where route.method == wanted {
            if let parameters = route.parameters(Array(components)) { return (route, parameters) }
        }
        return nil
    }

    private func parameters(_ components: [Substring]) -> [String: String]? {
        guard components.count == parts.count else { return nil }
        var parameters: [String: String] = [:]
        for (part, component) in zip(parts, components) {
            if part.first == "{" {
                guard let value = component.removingPercentEncoding, !value.isEmpty else { return nil }
                parameters[String(part.dropFirst().dropLast())] = value
            } else if part != component {
                return nil
            }
        }
        return parameters
    }
}
