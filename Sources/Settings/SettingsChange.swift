import HTTPAPI
public import LiveActivity
import Store

/// The differences between the settings of a running process and those that it read again. It names settings and holds
/// no value of one.
public struct SettingsChange: Sendable, Hashable {
    public enum Process: String, Sendable, Hashable { case gateway, worker }

    /// The settings that the process uses from now on, such as `log.level` or `shop: secret`.
    public var applied: [String] = []
    /// The settings that keep their old values until the process is started again.
    public var needsRestart: [String] = []
    /// Apps of which a gateway takes other secrets or credentials from now on.
    public var access: [AppKey] = []

    public var isEmpty: Bool { applied.isEmpty && needsRestart.isEmpty }

    /// The settings that a running process can change, by their paths. docs/reference.md lists them.
    public static func changeable(_ process: Process) -> Set<String> {
        Set(SettingKey.all.filter { $0.live.contains(process) }.map(\.path))
    }

    /// Settings that a process does not use, by the beginning of their paths.
    static let foreign: [Process: [String]] = [
        .gateway: [
            "worker.", "delivery.", "guard.", "pacing.", "broadcast.", "webhook.", "gateway.url", "gateway.ca_file",
            "pushes.most", "pushes.export",
        ],
        .worker: [
            "gateway.", "limits.", "defaults.", "redis.wait_", "console.", "actions.", "approval.", "monitor.host",
            "monitor.port",
        ],
    ]

    /// Compares. Both settings are of one process, with the same flags and environment.
    public init(from old: Settings, to new: Settings, in process: Process) {
        for key in SettingKey.all where old.texts[key.path] != new.texts[key.path] {
            note(key.path, isLive: key.live.contains(process), in: process)
        }
        let before = Dictionary(old.apps.map { ($0.key, $0) }) { $1 }
        let after = Dictionary(new.apps.map { ($0.key, $0) }) { $1 }
        for app in new.apps {
            guard let known = before[app.key] else {
                note("apps: \(app.key) is new", isLive: process == .gateway, in: process)
                if process == .gateway {
                    access.append(app.key)
                    noteParts(ofNew: app, new)
                }
                continue
            }
            let changed = AppField.allCases.filter { known[$0] != app[$0] }
            for field in changed where Self.uses(field, process, from: known, to: app) {
                note("\(app.key): \(field.path)", isLive: Self.isLive(field, from: known, to: app), in: process)
            }
            if process == .gateway, known.credentials != app.credentials {
                note("\(app.key): credentials", isLive: true, in: process)
            }
            let isOpenedAnew =
                known.credentials != app.credentials || changed.contains(.secret) || changed.contains(.masterSecret)
            if process == .gateway, isOpenedAnew { access.append(app.key) }
        }
        for app in old.apps where after[app.key] == nil {
            note("apps: \(app.key) is gone", isLive: process == .gateway, in: process)
        }
    }

    /// A gateway serves a new app at once. Its events and its intake, which are agreed at the start, need a restart.
    private mutating func noteParts(ofNew app: AppSettings, _ settings: Settings) {
        if settings.gateway.readsIntake { needsRestart.append("\(app.key): gateway.intake") }
        if settings.eventPolicies[app.key]?.isOn == true { needsRestart.append("\(app.key): events") }
    }

    private mutating func note(_ setting: String, isLive: Bool, in process: Process) {
        if isLive {
            applied.append(setting)
        } else if !(Self.foreign[process] ?? []).contains(where: setting.hasPrefix) {
            needsRestart.append(setting)
        }
    }

    /// Only workers send, and only gateways know the secrets. A gateway needs to know which events a webhook gets, and
    /// not where it is.
    static func uses(_ field: AppField, _ process: Process, from old: AppSettings, to new: AppSettings) -> Bool {
        switch field {
        case .secret, .masterSecret: process == .gateway
        case .staleAfter, .catchUp, .receipts, .respectDismissal, .deviceTags, .deviceUsers, .approvalFor,
            .expiryStart, .expiryUpdate, .expiryEnd, .attestationTeamID, .attestationBundleID, .attestationEnvironment,
            .attestationRootFile:
            process == .gateway
        case .key, .endAfter, .webhookEvents: true
        case .webhookURL: process == .worker || old.webhookEvents != new.webhookEvents
        default: process == .worker
        }
    }

    static func isLive(_ field: AppField, from old: AppSettings, to new: AppSettings) -> Bool {
        switch field {
        case .secret, .masterSecret, .staleAfter, .endAfter, .catchUp, .receipts, .respectDismissal, .deviceTags,
            .deviceUsers, .approvalFor, .expiryStart, .expiryUpdate, .expiryEnd, .maximumPerSecond,
            .maximumPerSecondOfPush,
            .attestationTeamID, .attestationBundleID, .attestationEnvironment, .attestationRootFile:
            true
        case .keyID, .keyFile, .nextKeyID, .nextKeyFile, .teamID: true
        // Keys of its own need a place that a running worker has only if it had them before.
        case .sandboxKeyID, .sandboxKeyFile: old.otherOrigin != nil
        // Which events there are is agreed with Redis's scripts at the start.
        case .webhookURL: old.webhookEvents == new.webhookEvents
        case .webhookSecret, .webhookSecretFile, .webhookCAFile, .webhookAllowsPrivate, .webhookAllowsHTTP:
            old[.webhookURL] != nil
        default: false
        }
    }
}

extension Settings {
    /// The settings that a process uses after a reload: those that it runs with, and the live ones of these. So a value
    /// that needs a restart has no effect before it, and the next reload names it again.
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
            let values = AppField.allCases.compactMap { field in
                let takesNew =
                    SettingsChange.isLive(field, from: app, to: new)
                    || !SettingsChange.uses(field, process, from: app, to: new)
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
