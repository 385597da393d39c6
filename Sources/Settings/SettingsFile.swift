import StrictJSON
import YAML

/// The YAML file as a flat map from `section.key` to the text as written, with its line. A misspelt key is an error.
struct SettingsFile {
    struct Entry {
        var text: String
        var origin: SettingOrigin
    }

    var values: [String: Entry] = [:]
    /// Each app's fields by their path inside the entry. Nil if the file has no `apps:`.
    var apps: [[String: Entry]]?
    /// The credentials of each app, in the order of `apps`.
    var credentials: [[[String: Entry]]] = []
    var problems: [SettingsError] = []
    private let path: String

    init(text: String, path: String) throws(SettingsError) {
        self.path = path
        guard let root = try Self.parse(text, path: path) else { return }
        guard case .mapping(let mapping) = root.content else {
            throw .malformed(.file(path, line: root.line), reason: "must be a mapping of sections such as 'redis:'")
        }
        var found: [String: Entry] = [:]
        for (keyNode, node) in mapping {
            let key = keyNode.text ?? ""
            if key == "apps" {
                readApps(node)
            } else {
                read(key, keyNode, node, known: Self.settings, also: ["apps"], into: &found)
            }
        }
        values = found
    }

    private mutating func readApps(_ node: YAMLNode) {
        guard !Self.isNull(node) else { return }
        guard case .sequence(let items) = node.content else {
            return refuse(node, "apps must be a list: each app begins with '- key: …'")
        }
        var found: [[String: Entry]] = []
        for item in items {
            guard case .mapping(let fields) = item.content else {
                refuse(item, "each app must be a mapping that begins with 'key: …'")
                continue
            }
            var app: [String: Entry] = [:]
            var listed: [[String: Entry]] = []
            for (keyNode, value) in fields {
                if keyNode.text == "credentials" {
                    listed = readCredentials(value)
                    continue
                }
                read(keyNode.text ?? "", keyNode, value, known: Self.appFields, also: ["credentials"], into: &app)
            }
            found.append(app)
            credentials.append(listed)
        }
        apps = found
    }

    private mutating func readCredentials(_ node: YAMLNode) -> [[String: Entry]] {
        guard !Self.isNull(node) else { return [] }
        guard case .sequence(let items) = node.content else {
            refuse(node, "credentials must be a list: each one begins with '- id: …'")
            return []
        }
        var found: [[String: Entry]] = []
        for item in items {
            guard case .mapping(let fields) = item.content else {
                refuse(item, "each credential must be a mapping that begins with 'id: …'")
                continue
            }
            var entry: [String: Entry] = [:]
            for (keyNode, value) in fields {
                let key = keyNode.text ?? ""
                // Scopes may be a list too.
                if key == CredentialSettings.Field.scopes.rawValue, case .sequence(let words) = value.content {
                    let text = words.map { $0.text ?? "" }.joined(separator: ",")
                    entry[key] = Entry(text: text, origin: origin(value))
                    continue
                }
                let known = CredentialSettings.Field.allCases.map(\.rawValue)
                read(key, keyNode, value, known: known, also: [], into: &entry)
            }
            found.append(entry)
        }
        return found
    }

    /// Reads one key with its value: a scalar for a known key, a mapping for a section. All else is a problem.
    private mutating func read(
        _ key: String, _ keyNode: YAMLNode, _ node: YAMLNode, known: [String], also: [String],
        into found: inout [String: Entry]
    ) {
        if known.contains(key) {
            guard let text = node.text else {
                return refuse(node, "\(key) must be a single value, not a list or a section")
            }
            if node.isCutByHash, Self.secrets.contains(key) {
                let remedy = "put the value in quotes, or a blank after the #"
                return refuse(node, "\(key): what stands after ' #' is a comment; \(remedy)")
            }
            if !Self.isNull(node) { found[key] = Entry(text: text, origin: origin(node)) }
        } else if known.contains(where: { $0.hasPrefix(key + ".") }) {
            guard !Self.isNull(node) else { return }
            guard case .mapping(let fields) = node.content else {
                return refuse(node, "\(key) must be a section of keys")
            }
            for (innerKey, inner) in fields {
                read("\(key).\(innerKey.text ?? "")", innerKey, inner, known: known, also: [], into: &found)
            }
        } else {
            let sections = Set(known.compactMap { $0.split(separator: ".").first.map(String.init) })
            // Sections first: a key without a point is one, or the part of one.
            let candidates = key.contains(".") ? known : also + sections.sorted() + known
            problems.append(.unknownKey(key, origin(keyNode), nearest: candidates.nearest(to: key)))
        }
    }

    private static let settings = SettingKey.all.flatMap { key in
        [key.path] + (key.secondName.map { [$0.path(of: key.path)] } ?? [])
    }
    private static let appFields = AppField.all.flatMap { [$0.path, $0.secondPath].compactMap(\.self) }

    /// Keys whose values may hold any character, so that a # in them is likely. A wrong one is found only when used.
    private static let secrets = Set(
        AppField.all.filter(\.isSecret).map(\.path) + SettingKey.all.filter { $0.secondName == .file }.map(\.path)
            + ["hash"])

    private mutating func refuse(_ node: YAMLNode, _ reason: String) {
        problems.append(.malformed(origin(node), reason: reason))
    }

    private func origin(_ node: YAMLNode) -> SettingOrigin { .file(path, line: node.line) }

    /// True for `key:` without a value. The setting keeps its default then.
    private static func isNull(_ node: YAMLNode) -> Bool {
        guard case .scalar(let text, let isPlain) = node.content else { return false }
        return isPlain && ["", "~", "null"].contains(text)
    }

    private static func parse(_ text: String, path: String) throws(SettingsError) -> YAMLNode? {
        do throws(YAMLError) {
            return try YAMLDocument.parse(text)
        } catch {
            throw .malformed(.file(path, line: error.line), reason: "not valid YAML: \(error.reason); correct it here")
        }
    }
}

extension YAMLNode {
    /// The text of a scalar.
    fileprivate var text: String? { if case .scalar(let text, _) = content { text } else { nil } }
}
