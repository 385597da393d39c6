import Answers

/// The settings that this gateway uses. They are read only: the file, the environment and the flags set them.
enum SettingsPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let file = try await Export.file(visit, "/api/settings", "settings", columns: SettingAnswer.memberNames)
        if let file { return file }
        let found: SettingsAnswer = try await visit.get("/api/settings")
        let part = visit.query.text("contains")
        let isOnlySet = visit.query["show"] == "set"
        let wanted = found.settings.filter { setting in
            (part.map { setting.name.contains($0) } ?? true) && (!isOnlySet || setting.source != "default")
        }
        // A setting of the app is `shop: defaults.receipts`.
        let own = "\(visit.app): "
        let groups = [
            ("Of the app", wanted.filter { $0.name.hasPrefix(own) }),
            ("Of the deployment", wanted.filter { !$0.name.hasPrefix(own) }),
        ]
        return visit.page(
            "settings", "Settings",
            values([
                "groups": groups.filter { !$0.1.isEmpty }.map { title, settings in
                    ["heading": title, "settings": settings.map { row($0, own) }] as Values
                }, "empty": wanted.isEmpty ? true : nil, "contains": part ?? "",
                "shows": Options.list([("", "All"), ("set", "Those that were set")], chosen: visit.query["show"]),
                "pager": Pager.values(visit, next: nil, keeping: []),
            ]))
    }

    private static func row(_ setting: SettingAnswer, _ own: String) -> Values {
        let isDefault = setting.source == "default"
        return values([
            "name": setting.name.hasPrefix(own) ? String(setting.name.dropFirst(own.count)) : setting.name,
            "value": setting.value, "isSecret": setting.secret ? true : nil,
            "isUnset": setting.value == nil && !setting.secret ? true : nil,
            "source": isDefault ? nil : setting.source, "isLive": setting.live ? true : nil,
        ])
    }
}
