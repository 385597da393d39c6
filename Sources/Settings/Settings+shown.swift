public import Answers
import HTTPAPI
public import LiveActivity

extension Settings {
    /// The settings that a gateway uses, for operators of the app: first the deployment's settings, then the app's.
    /// Secrets are left out, and so are other apps.
    public func shown(for app: AppKey) -> [SettingAnswer] {
        let own = SettingKey.all.filter { $0.users.contains(.gateway) }.map { key in
            SettingAnswer(
                name: key.path, value: key.isSecret ? nil : text(of: key, for: app).flatMap(Self.plain),
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

    /// The text of a setting, without lines that are about other apps.
    private func text(of key: SettingKey, for app: AppKey) -> String? {
        guard let text = texts[key.path], key.path == "console.oidc.groups" else { return texts[key.path] }
        let lines = text.split { $0 == ";" || $0.isNewline }.map(\.trimmed)
        let own = lines.filter { line in OpenIDOptions.Access.list(line)?.contains { $0.app == app } == true }
        return own.joined(separator: "; ")
    }

    /// The path as it stands. Nil for a PEM text in place of a path, because it may be a private key.
    private static func plain(_ text: String) -> String? {
        text.contains("-----") || text.contains("\n") ? nil : text
    }
}
