import LiveActivity
import Store

/// Reads the served apps: the apps under `apps:` in the file, or the environment's one app.
struct AppsReader {
    let input: SettingsInput
    let file: SettingsFile?
    var problems: [SettingsError] = []
    var warnings: [String] = []
    /// The fields whose values are in quotes, with their sources.
    var quoted: [String] = []

    mutating func read() -> [AppSettings] {
        let variables = AppField.all.flatMap { field in
            [(field.path, field.environmentName)]
                + (field.secondPath.map { [($0, field.secondEnvironmentName ?? "")] } ?? [])
        }.filter { !(input.environment[$0.1] ?? "").isEmpty }
        guard let listed = file?.apps else {
            guard !variables.isEmpty else { return [] }
            var entries: [String: SettingsFile.Entry] = [:]
            for (path, name) in variables {
                entries[path] = .init(text: input.environment[name] ?? "", origin: .environment(name))
            }
            return app(entries, [], path: "").map { [$0] } ?? []
        }
        if let path = input.file?.path, !variables.isEmpty {
            let names = variables.map(\.1).joined(separator: ", ")
            warnings.append("\(names): ignored, because \(path) lists apps")
        }
        var apps: [AppSettings] = []
        for (index, entries) in listed.enumerated() {
            let credentials = credentials(file?.credentials[index] ?? [], path: "apps[\(index)].credentials")
            guard let app = app(entries, credentials, path: "apps[\(index)]") else { continue }
            if apps.contains(where: { $0.key == app.key }), let origin = entries[AppField.key.path]?.origin {
                problems.append(.conflict(key: "apps[\(index)].key", origin, reason: "'\(app.key)' is listed twice"))
            }
            apps.append(app)
        }
        return apps
    }

    /// Refuses equal secrets: everyone who has the app has its secret, and could publish with it.
    private func secretProblem(
        _ values: [AppField: String], _ entries: [String: SettingsFile.Entry], _ name: (AppField) -> String
    ) -> SettingsError? {
        guard let secret = values[.secret], secret == values[.masterSecret],
            let origin = entries[AppField.masterSecret.path]?.origin
        else { return nil }
        return .conflict(
            key: name(.masterSecret), origin, reason: "it must differ from \(name(.secret)), which every device holds")
    }

    private mutating func credentials(
        _ listed: [[String: SettingsFile.Entry]], path: String
    ) -> [CredentialSettings] {
        var found: [CredentialSettings] = []
        for (index, entries) in listed.enumerated() {
            let place = "\(path)[\(index)]"
            guard let entry = CredentialSettings(entries, path: place, &problems) else { continue }
            if found.contains(where: { $0.credential.id == entry.credential.id }), let origin = entries["id"]?.origin {
                let reason = "'\(entry.credential.id)' is listed twice"
                problems.append(.conflict(key: "\(place).id", origin, reason: reason))
            }
            found.append(entry)
        }
        return found
    }

    /// The entries with what their second names stand for.
    private mutating func resolved(_ entries: [String: SettingsFile.Entry]) -> [String: SettingsFile.Entry] {
        var resolved = entries
        for field in AppField.all {
            do throws(SettingsError) {
                let other = field.secondPath.flatMap { entries[$0] }
                resolved[field.path] = try SecondName.entry(entries[field.path], other, field.secondName, field.path)
            } catch {
                problems.append(error)
            }
        }
        return resolved
    }

    private mutating func app(
        _ written: [String: SettingsFile.Entry], _ credentials: [CredentialSettings], path: String
    ) -> AppSettings? {
        let entries = resolved(written)
        var values: [AppField: String] = [:]
        let name = { (field: AppField) in path.isEmpty ? field.environmentName : "\(path).\(field.path)" }
        for field in AppField.all {
            guard let entry = entries[field.path] else { continue }
            let text = field.rule.cleaned(entry.text)
            if SettingsInput.isQuoted(text) { quoted.append("\(name(field)) (\(entry.origin))") }
            if let rule = field.violation(text) {
                let found = field.isSecret ? nil : text
                problems.append(.invalid(key: name(field), entry.origin, found: found, expected: rule))
                continue
            }
            do throws(SettingsError) {
                values[field] = field.isPath ? try SecretFile.path(entry, of: name(field)) : text
            } catch {
                problems.append(error)
            }
        }
        problems += [secretProblem(values, entries, name)].compactMap(\.self)
        problems += sandboxProblems(values, entries, name)
        let written = WrittenApp(values: values, entries: entries, name: name)
        problems += AppField.all.filter { values[$0] != nil }.flatMap { $0.problems(written) }
        problems += needProblems(entries, name)
        guard let text = values[.key] else {
            if entries[AppField.key.path] == nil {
                problems.append(.missing(key: name(.key), remedy: "every app needs one: \(AppField.key.summary)"))
            }
            return nil
        }
        guard let key = try? AppKey(text) else { return nil }
        return AppSettings(key: key, path: path, values: values, credentials: credentials)
    }

    /// Refuses fields without the fields that they need: such as half of a key.
    private func needProblems(
        _ entries: [String: SettingsFile.Entry], _ name: (AppField) -> String
    ) -> [SettingsError] {
        var missing: Set<AppField> = []
        return AppField.all.filter { entries[$0.path] != nil }.flatMap { field in
            field.needs().filter { entries[$0.path] == nil && missing.insert($0).inserted }.map { needed in
                .missing(key: name(needed), remedy: "\(name(field)) needs it: it is \(needed.summary)")
            }
        }
    }

    /// Refuses an own server for one environment beside Apple's for the other, because tokens of one would go to the
    /// other; and a server and a key of a sandbox that is not used beside production.
    private func sandboxProblems(
        _ values: [AppField: String], _ entries: [String: SettingsFile.Entry], _ name: (AppField) -> String
    ) -> [SettingsError] {
        if values[.environment] == "both" {
            guard values[.url] != nil, entries[AppField.sandboxURL.path] == nil else { return [] }
            let remedy = "\(name(.url)) and environment both need it: \(AppField.sandboxURL.summary)"
            return [.missing(key: name(.sandboxURL), remedy: remedy)]
        }
        let others: [(AppField, String)] = [
            (.sandboxURL, "apns.url names the only server"),
            (.sandboxKeyID, "apns.key_id is the key of the only environment"),
        ]
        return others.compactMap { field, other in
            entries[field.path].map { entry in
                let reason = "it is for \(AppField.environment.path) both; \(other)"
                return .conflict(key: name(field), entry.origin, reason: reason)
            }
        }
    }
}

/// An app as it is written, for the rules of single fields.
struct WrittenApp {
    /// The values that keep their own rules.
    let values: [AppField: String]
    let entries: [String: SettingsFile.Entry]
    /// The field as the operator wrote it.
    let name: (AppField) -> String

    /// The source of a field. Nil: it is not written.
    func origin(_ field: AppField) -> SettingOrigin? { entries[field.path]?.origin }
}
