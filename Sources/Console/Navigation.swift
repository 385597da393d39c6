/// The pages that every page links to.
enum Navigation {
    private static let all: [(path: String, title: String)] = [
        ("/console", "Home"), ("/console/compose", "Compose"), ("/console/pushes", "Pushes"),
        ("/console/names", "Names"), ("/console/devices", "Devices"), ("/console/schedules", "Schedules"),
        ("/console/broadcasts", "Broadcasts"), ("/console/dead", "Dead letters"),
        ("/console/quarantine", "Quarantine"), ("/console/actions", "Action log"),
    ]

    /// The page of `all` that the path belongs to.
    static func area(of path: String) -> String {
        let parts = path.split(separator: "/")
        return parts.count < 2 ? "/console" : "/console/\(parts[1])"
    }

    /// Pages that the credential may not open are left out.
    static func items(current: String, for identity: ConsoleIdentity) -> [Values] {
        all.filter { page in
            Route.find("GET", page.path).map { identity.refusal($0.0.scope, forAllNames: $0.0.forAllNames) == nil }
                ?? false
        }.map { values(["path": $0.path, "title": $0.title, "current": $0.path == current ? true : nil]) }
    }
}
