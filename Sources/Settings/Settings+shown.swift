public import Answers
public import LiveActivity

extension Settings {
    /// The settings that a gateway uses, for operators of the app: first the deployment's settings, then the app's.
    /// Secrets are left out, and so are other apps.
    public func shown(for app: AppKey) -> [SettingAnswer] {
        let own = SettingKey.all.filter { $0.users.contains(.gateway) }.map { key in
            SettingAnswer(
                name: key.path, value: key.isSecret ? nil : texts[key.path].flatMap { Self.plain(key.part($0, app)) },
                secret: key.isSecret && texts[key.path] != nil,
                source: "\(origins[key.path] ?? .builtIn)", live: key.live.contains(.gateway))
        }
        guard let app = apps.first(where: { $0.key == app }) else { return own }
        let source = app.path.isEmpty ? "environment" : "\(file ?? "file"): \(app.path)"
        let fields = AppField.all.filter { $0 != .key && $0.isUsed(by: .gateway, from: app, to: app) }
        return own
            + fields.map { field in
                let isSecret = field.isSecret
                return SettingAnswer(
                    name: "\(app.key): \(field.path)", value: isSecret ? nil : app[field].flatMap(Self.plain),
                    secret: isSecret && app[field] != nil, source: app[field] == nil ? "default" : source,
                    live: field.isLive(app, app))
            }
    }

    /// The path as it stands. Nil for a PEM text in place of a path, because it may be a private key.
    private static func plain(_ text: String) -> String? {
        text.contains("-----") || text.contains("\n") ? nil : text
    }
}
