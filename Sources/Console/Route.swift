import Answers
import LiveActivity

/// One method at one path below `/console`.
struct Route: Sendable {
    let method: String
    /// The path with its parameters. Logs and metrics show the pattern in place of the path.
    let pattern: String
    /// The scope that its calls of the API need. Nil: none.
    let scope: CredentialScope?
    /// Whether a credential for some names only cannot open it.
    let forAllNames: Bool
    let handle: @Sendable (Visit) async throws -> ConsoleResponse
    private let parts: [Substring]

    init(
        _ method: String, _ pattern: String, _ scope: CredentialScope?, forAllNames: Bool = false,
        _ handle: @escaping @Sendable (Visit) async throws -> ConsoleResponse
    ) {
        (self.method, self.pattern, self.handle) = (method, pattern, handle)
        (self.scope, self.forAllNames) = (scope, forAllNames)
        parts = pattern.split(separator: "/")
    }

    static let all: [Route] = ofCore + ofFeatures.joined()

    private static let ofCore: [Route] = [
        Route("GET", "/console", .read, HomePage.show),
        Route("GET", "/console/live", .read, HomePage.live),
        Route("POST", "/console/pause", .operate, forAllNames: true, HomePage.pause),
        Route("POST", "/console/sign-out", nil, HomePage.signOut),
        Route("GET", "/console/compose", .publish, ComposePage.show),
        Route("POST", "/console/compose", .publish, ComposePage.submit),
        Route("POST", "/console/compose/check", .publish, ComposePage.check),
        Route("GET", "/console/compose/names", .read, NamePart.names),
        Route("GET", "/console/compose/publish", .publish, PublishPage.show),
        Route("POST", "/console/compose/publish", .publish, PublishPage.publish),
        Route("GET", "/console/templates", .publish, TemplatesPage.show),
        Route("POST", "/console/templates/drop", .publish, TemplatesPage.drop),
        Route("GET", "/console/pushes", .read, PushesPage.show),
        Route("GET", "/console/pushes/{push}", .read, PushPage.show),
        Route("GET", "/console/pushes/{push}/live", .read, PushPage.live),
        Route("POST", "/console/pushes/{push}", .read, PushPage.decide),
        Route("GET", "/console/names", .read, NamesPage.show),
        Route("GET", "/console/names/{name}", .read, RoomPage.show),
        Route("POST", "/console/names/{name}", .operate, RoomPage.change),
        Route("GET", "/console/names/{name}/live", .read, RoomPage.live),
        Route("GET", "/console/names/{name}/followers", .track, FollowersPage.show),
        Route("GET", "/console/devices", .read, forAllNames: true, DevicesPage.find),
        Route("GET", "/console/devices/{device}", .read, forAllNames: true, DevicesPage.show),
        Route("POST", "/console/devices/{device}/forget", .track, forAllNames: true, DevicesPage.forget),
        Route("GET", "/console/schedules", .read, SchedulesPage.show),
        Route("POST", "/console/schedules", .publish, SchedulesPage.cancelMany),
        Route("GET", "/console/broadcasts", .read, forAllNames: true, BroadcastsPage.show),
        Route("GET", "/console/alarms", .read, AlarmsPage.show),
        Route("POST", "/console/alarms", .operate, forAllNames: true, AlarmsPage.acknowledge),
        Route("GET", "/console/strip/live", .read, HomePage.strip),
        Route("GET", "/console/dead", .read, DeadPage.show),
        Route("POST", "/console/dead", .operate, DeadPage.decide),
        Route("GET", "/console/quarantine", .read, forAllNames: true, QuarantinePage.show),
        Route("POST", "/console/quarantine", .operate, forAllNames: true, QuarantinePage.decide),
        Route("GET", "/console/actions", .operate, forAllNames: true, ActionsPage.show),
        Route("GET", "/console/credentials", .operate, forAllNames: true, CredentialsPage.show),
        Route("POST", "/console/credentials", .operate, forAllNames: true, CredentialsPage.create),
        Route(
            "POST", "/console/credentials/{credential}/rotate", .operate, forAllNames: true, CredentialsPage.rotate),
        Route(
            "POST", "/console/credentials/{credential}/revoke", .operate, forAllNames: true, CredentialsPage.revoke),
        Route("GET", "/console/schemas", .read, forAllNames: true, SchemasPage.show),
        Route("POST", "/console/schemas", .operate, forAllNames: true, SchemasPage.set),
        Route("GET", "/console/schemas/{type}", .read, forAllNames: true, SchemasPage.one),
        Route("POST", "/console/schemas/{type}", .operate, forAllNames: true, SchemasPage.set),
        Route("POST", "/console/schemas/{type}/delete", .operate, forAllNames: true, SchemasPage.delete),
        Route("GET", "/console/settings", .operate, forAllNames: true, SettingsPage.show),
    ]

    /// Whether it answers a part of a page, which has no frame.
    var isPart: Bool {
        ["/live", "/check", "/names"].contains(where: pattern.hasSuffix) && pattern != "/console/names"
    }

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
                guard let value = component.percentDecoded, !value.isEmpty else { return nil }
                parameters[String(part.dropFirst().dropLast())] = value
            } else if part != component {
                return nil
            }
        }
        return parameters
    }
}
