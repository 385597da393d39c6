import LiveActivity

/// The settings of the export of the history.
public struct ExportSettings: Sendable {
    /// The directory to which a worker exports finished pushes. Nil: it does not.
    public var directory: String?
    /// Whether the export has the payloads of pushes.
    public var hasContent = false
}

extension Settings {
    public var export: ExportSettings {
        get { extras[ExportSettings.self] ?? ExportSettings() }
        set { extras[ExportSettings.self] = newValue }
    }
}

extension SettingKey {
    static let export: [SettingKey] = [
        SettingKey(\Settings.export.directory, "pushes.export", .text, nil) { text, origin, settings in
            settings.export.directory = origin.resolved(text)
            return nil
        }.help("directory to which workers write finished pushes; default: they do not").of(.worker),
        .choice(\.export.hasContent, "pushes.export_content", [("false", false), ("true", true)], "false")
            .help("whether the export has the payloads of pushes").of(.worker),
    ]
}
