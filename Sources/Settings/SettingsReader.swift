import Configuration
import LiveActivity

/// Reads the layers in their order, key by key, through swift-configuration. It collects all problems, so that one
/// run reports every one.
struct SettingsReader {
    private struct Layer {
        var values: [String: String] = [:]
        var origins: [String: SettingOrigin] = [:]

        mutating func put(_ path: String, _ text: String, _ origin: SettingOrigin) {
            values[path] = text
            origins[path] = origin
        }

        func provider(_ name: String) -> InMemoryProvider {
            var found: [AbsoluteConfigKey: ConfigValue] = [:]
            for (path, text) in values {
                let key = AbsoluteConfigKey(path.split(separator: ".").map(String.init))
                found[key] = ConfigValue(.string(text), isSecret: path == SettingKey.redisURL.path)
            }
            return InMemoryProvider(name: name, values: found)
        }
    }

    private let reader: ConfigReader
    private let layers: [Layer]
    var problems: [SettingsError] = []

    init(flags: [String: String], environment: [String: String], file: SettingsFile?) {
        var fromFlags = Layer()
        var fromEnvironment = Layer()
        var fromFile = Layer()
        var builtIn = Layer()
        for key in SettingKey.all {
            if let text = flags[key.path] { fromFlags.put(key.path, text, .flag(key.flagName)) }
            // An empty variable counts as unset, because templates of containers leave such variables.
            if let text = environment[key.environmentName], !text.isEmpty {
                fromEnvironment.put(key.path, text, .environment(key.environmentName))
            } else if key == .gatewayPort, let text = environment["PORT"], !text.isEmpty {
                fromEnvironment.put(key.path, text, .environment("PORT"))
            }
            if let entry = file?.values[key.path] { fromFile.put(key.path, entry.text, entry.origin) }
            if let text = key.defaultText { builtIn.put(key.path, text, .builtIn) }
        }
        layers = [fromFlags, fromEnvironment, fromFile, builtIn]
        reader = ConfigReader(providers: [
            fromFlags.provider("flags"), fromEnvironment.provider("environment"), fromFile.provider("file"),
            builtIn.provider("defaults"),
        ])
        problems = file?.problems ?? []
    }

    func origin(_ key: SettingKey) -> SettingOrigin {
        layers.lazy.compactMap { $0.origins[key.path] }.first ?? .builtIn
    }

    func text(_ key: SettingKey) -> String? { reader.string(forKey: ConfigKey(key.path)) }

    func path(_ key: SettingKey) -> String? { text(key).map(origin(key).resolved) }

    /// The parsed value. If the text cannot be parsed, it notes a problem and returns `placeholder`.
    mutating func value<Value>(
        _ key: SettingKey, or placeholder: Value, expected: String, isSecret: Bool = false, _ parse: (String) -> Value?
    ) -> Value {
        guard let text = text(key) else { return placeholder }
        if let value = parse(text) { return value }
        problems.append(.invalid(key: key.path, origin(key), found: isSecret ? nil : text, expected: expected))
        return placeholder
    }

    /// Nil if the setting is unset.
    mutating func optionalWhole(_ key: SettingKey) -> Int? { text(key) == nil ? nil : whole(key) }

    mutating func whole(_ key: SettingKey) -> Int {
        switch key.form {
        case .whole(let range):
            value(key, or: 0, expected: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
                Int(text).flatMap { range.contains($0) ? $0 : nil }
            }
        case .size(let range):
            value(key, or: 0, expected: "a size from \(range.lowerBound) to \(range.upperBound) bytes, such as 1M") {
                text in
                SettingText.size(text).flatMap { range.contains($0) ? $0 : nil }
            }
        case .text, .seconds, .choice, .share:
            preconditionFailure("\(key.path) is no number")
        }
    }

    mutating func host(_ key: SettingKey) -> String {
        value(key, or: "", expected: "a host name or an address") { text in
            text.isEmpty || text.contains(where: { " /".contains($0) }) ? nil : text
        }
    }

    mutating func duration(_ key: SettingKey) -> Duration {
        guard case .seconds(let range) = key.form else { preconditionFailure("\(key.path) is no duration") }
        let limits = "from \(SettingText.seconds(range.lowerBound)) to \(SettingText.seconds(range.upperBound))"
        return value(key, or: .zero, expected: "a time \(limits), such as 10s or 500ms") { text in
            TimeText.duration(text).flatMap { range.contains($0) ? .milliseconds(Int64($0 * 1_000)) : nil }
        }
    }

    mutating func share(_ key: SettingKey) -> Double {
        guard case .share(let range) = key.form else { preconditionFailure("\(key.path) is no share") }
        return value(key, or: range.upperBound, expected: "a share from \(range.lowerBound) to \(range.upperBound)") {
            text in
            TimeText.number(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    mutating func choice(_ key: SettingKey) -> String {
        guard case .choice(let choices) = key.form else { preconditionFailure("\(key.path) is no choice") }
        return value(key, or: choices[0], expected: "one of \(choices.joined(separator: ", "))") { text in
            choices.contains(text) ? text : nil
        }
    }
}

/// Reads and writes values as people write them.
enum SettingText {
    static func seconds(_ value: Double) -> String {
        value < 1 && value > 0 ? "\(Int(value * 1_000))ms" : "\(Int(value))s"
    }

    /// Reads `65536`, `64K` or `1M` as bytes.
    static func size(_ text: String) -> Int? {
        for (suffix, factor) in [("K", 1 << 10), ("M", 1 << 20)] where text.uppercased().hasSuffix(suffix) {
            guard let count = Int(text.dropLast()), count >= 0, count <= Int.max / factor else { return nil }
            return count * factor
        }
        return Int(text)
    }
}
