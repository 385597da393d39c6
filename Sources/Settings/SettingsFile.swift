import StrictJSON
import Yams

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
        guard let root = try Self.compose(text, path: path) else { return }
        guard case .mapping(let mapping) = root else {
            throw .malformed(
                .file(path, line: root.mark?.line), reason: "must be a mapping of sections such as 'redis:'")
        }
        var found: [String: Entry] = [:]
        for (keyNode, node) in mapping {
            let key = keyNode.scalar?.string ?? ""
            if key == "apps" {
                readApps(node)
            } else {
                read(key, keyNode, node, known: SettingKey.all.map(\.path), also: ["apps"], into: &found)
            }
        }
        values = found
    }

    private mutating func readApps(_ node: Node) {
        guard !Self.isNull(node) else { return }
        guard case .sequence(let items) = node else {
            return refuse(node, "apps must be a list: each app begins with '- key: …'")
        }
        var found: [[String: Entry]] = []
        for item in items {
            guard case .mapping(let fields) = item else {
                refuse(item, "each app must be a mapping that begins with 'key: …'")
                continue
            }
            var app: [String: Entry] = [:]
            var listed: [[String: Entry]] = []
            for (keyNode, value) in fields {
                if keyNode.scalar?.string == "credentials" {
                    listed = readCredentials(value)
                    continue
                }
                let known = AppField.allCases.map(\.path)
                read(keyNode.scalar?.string ?? "", keyNode, value, known: known, also: ["credentials"], into: &app)
            }
            found.append(app)
            credentials.append(listed)
        }
        apps = found
    }

    private mutating func readCredentials(_ node: Node) -> [[String: Entry]] {
        guard !Self.isNull(node) else { return [] }
        guard case .sequence(let items) = node else {
            refuse(node, "credentials must be a list: each one begins with '- id: …'")
            return []
        }
        var found: [[String: Entry]] = []
        for item in items {
            guard case .mapping(let fields) = item else {
                refuse(item, "each credential must be a mapping that begins with 'id: …'")
                continue
            }
            var entry: [String: Entry] = [:]
            for (keyNode, value) in fields {
                let key = keyNode.scalar?.string ?? ""
                // Scopes may be a list too.
                if key == CredentialSettings.Field.scopes.rawValue, case .sequence(let words) = value {
                    let text = words.map { $0.scalar?.string ?? "" }.joined(separator: ",")
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
        _ key: String, _ keyNode: Node, _ node: Node, known: [String], also: [String], into found: inout [String: Entry]
    ) {
        if known.contains(key) {
            guard case .scalar(let scalar) = node else {
                return refuse(node, "\(key) must be a single value, not a list or a section")
            }
            if !Self.isNull(node) { found[key] = Entry(text: scalar.string, origin: origin(node)) }
        } else if known.contains(where: { $0.hasPrefix(key + ".") }) {
            guard !Self.isNull(node) else { return }
            guard case .mapping(let fields) = node else { return refuse(node, "\(key) must be a section of keys") }
            for (innerKey, inner) in fields {
                read("\(key).\(innerKey.scalar?.string ?? "")", innerKey, inner, known: known, also: [], into: &found)
            }
        } else {
            let sections = Set(known.compactMap { $0.split(separator: ".").first.map(String.init) })
            let candidates = key.contains(".") ? known : known + sections.sorted() + also
            problems.append(.unknownKey(key, origin(keyNode), nearest: candidates.nearest(to: key)))
        }
    }

    private mutating func refuse(_ node: Node, _ reason: String) {
        problems.append(.malformed(origin(node), reason: reason))
    }

    private func origin(_ node: Node) -> SettingOrigin { .file(path, line: node.mark?.line) }

    /// True for `key:` without a value. The setting keeps its default then.
    private static func isNull(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node else { return false }
        return scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
    }

    private static func compose(_ text: String, path: String) throws(SettingsError) -> Node? {
        do {
            return try Yams.compose(yaml: text)
        } catch YamlError.scanner(_, let problem, let mark, _), YamlError.parser(_, let problem, let mark, _),
            YamlError.composer(_, let problem, let mark, _)
        {
            throw .malformed(.file(path, line: mark.line), reason: "not valid YAML: \(problem)")
        } catch YamlError.duplicatedKeysInMapping(let duplicates, let context) {
            let keys = duplicates.map { "'\($0)'" }.joined(separator: ", ")
            throw .malformed(.file(path, line: context.mark.line), reason: "\(keys) is there twice in one section")
        } catch {
            throw .malformed(.file(path, line: nil), reason: "not valid YAML")
        }
    }
}
