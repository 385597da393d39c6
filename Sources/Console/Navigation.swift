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

    static func items(current: String) -> [Values] {
        all.map { values(["path": $0.path, "title": $0.title, "current": $0.path == current ? true : nil]) }
    }
}
