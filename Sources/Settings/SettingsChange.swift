import HTTPAPI
public import LiveActivity
import Store

/// The differences between the settings of a running process and the settings that it read again. It names settings and
/// holds no value of one.
public struct SettingsChange: Sendable, Hashable {
    public enum Process: String, Sendable, Hashable, CaseIterable { case gateway, worker }

    /// The settings that the process uses from now on, such as `log.level` or `shop: secret`.
    public var applied: [String] = []
    /// The settings that keep their old values until the process is started again.
    public var needsRestart: [String] = []
    /// Apps whose secrets or credentials changed at a gateway.
    public var access: [AppKey] = []

    public var isEmpty: Bool { applied.isEmpty && needsRestart.isEmpty }

    /// Compares. Both settings are of one process, with the same flags and environment.
    public init(from old: Settings, to new: Settings, in process: Process) {
        for key in SettingKey.all where old.texts[key.path] != new.texts[key.path] {
            if key.users.contains(process) { note(key.path, isLive: key.live.contains(process)) }
        }
        let before = Dictionary(old.apps.map { ($0.key, $0) }) { $1 }
        let after = Dictionary(new.apps.map { ($0.key, $0) }) { $1 }
        for app in new.apps {
            guard let known = before[app.key] else {
                note("apps: \(app.key) is new", isLive: process == .gateway)
                if process == .gateway {
                    access.append(app.key)
                    noteParts(ofNew: app, new)
                }
                continue
            }
            let changed = AppField.all.filter { known[$0] != app[$0] }
            for field in changed where field.isUsed(by: process, from: known, to: app) {
                note("\(app.key): \(field.path)", isLive: field.isLive(known, app))
            }
            if process == .gateway, known.credentials != app.credentials {
                note("\(app.key): credentials", isLive: true)
            }
            let isOpenedAnew =
                known.credentials != app.credentials || changed.contains(.secret) || changed.contains(.masterSecret)
            if process == .gateway, isOpenedAnew { access.append(app.key) }
        }
        for app in old.apps where after[app.key] == nil {
            note("apps: \(app.key) is gone", isLive: process == .gateway)
        }
    }

    /// A gateway serves a new app at once. Its events, and what features agree on at the start, need a restart.
    private mutating func noteParts(ofNew app: AppSettings, _ settings: Settings) {
        for key in SettingKey.all where key.restartsForNewApps(settings) {
            needsRestart.append("\(app.key): \(key.path)")
        }
        if settings.eventPolicies[app.key]?.isOn == true { needsRestart.append("\(app.key): events") }
    }

    private mutating func note(_ setting: String, isLive: Bool) {
        if isLive { applied.append(setting) } else { needsRestart.append(setting) }
    }
}

extension Settings {
    /// The settings that a process uses after a reload: its running settings, with the live ones of the new settings.
    /// So a value that needs a restart has no effect before it, and the next reload names it again.
    public func reloaded(over running: Settings, in process: SettingsChange.Process) -> Settings {
        var next = self
        for key in SettingKey.all where !key.live.contains(process) {
            key.copy(running, &next)
            next.texts[key.path] = running.texts[key.path]
            next.origins[key.path] = running.origins[key.path]
        }
        let read = Dictionary(apps.map { ($0.key, $0) }) { $1 }
        let known = Set(running.apps.map(\.key))
        next.apps = running.apps.compactMap { app in
            guard let new = read[app.key] else { return process == .worker ? app : nil }
            let values = AppField.all.compactMap { field in
                let takesNew = field.isLive(app, new) || !field.isUsed(by: process, from: app, to: new)
                return (takesNew ? new[field] : app[field]).map { (field, $0) }
            }
            return AppSettings(
                key: app.key, path: new.path, values: Dictionary(uniqueKeysWithValues: values),
                credentials: new.credentials)
        }
        if process == .gateway { next.apps += apps.filter { !known.contains($0.key) } }
        next.derive()
        return next
    }
}
