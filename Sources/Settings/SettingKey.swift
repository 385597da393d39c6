import LiveActivity

/// One setting: its name, its help, its default and the field that it sets. Loading, `--help` and warnings read the
/// same rows. The names in the environment and on the command line are derived from `path`, the key in the file.
public struct SettingKey: Sendable {
    /// The form of a value, for `--help` and for errors.
    public enum Form: Sendable, Hashable {
        case text
        case whole(ClosedRange<Int>)
        /// Bytes, with or without a suffix: `65536`, `64K`, `1M`.
        case size(ClosedRange<Int>)
        /// Seconds, or a number with a unit: `10`, `10s`, `500ms`, `2m`.
        case seconds(ClosedRange<Double>)
        case choice([String])
        /// A fraction, such as 0.5.
        case share(ClosedRange<Double>)
    }

    /// `section.key_in_snake_case`.
    public let path: String
    public let form: Form
    /// The default, as written in the file. Nil means unset.
    public let defaultText: String?
    public private(set) var summary = ""
    /// A variable that is read after the setting's own one.
    private(set) var otherVariable: String?
    /// A variable that is read after the file, because other programs read it too.
    private(set) var lastVariable: String?
    /// The setting's second name: `…_file` of a secret, the text of a file.
    private(set) var secondName: SecondName?
    /// The processes in which a reload changes the setting. There is no other list of reloadable settings. A reload
    /// copies the fields of reloadable settings into the running settings, and no others (`Settings.reloaded`).
    public private(set) var live: Set<SettingsChange.Process> = []
    /// The processes that use it. Nil: both, unless its section says otherwise.
    private var ownUsers: Set<SettingsChange.Process>?
    var users: Set<SettingsChange.Process> { ownUsers ?? Set(SettingsChange.Process.allCases) }
    /// Whether a gateway with these settings has the setting for an app that is new only after a restart.
    private(set) var restartsForNewApps: @Sendable (Settings) -> Bool = { _ in false }
    /// The paths of settings without which it is refused.
    private(set) var needs: (paths: [String], remedy: String?) = ([], nil)
    /// The part of its text that operators of an app may see.
    private(set) var part: @Sendable (_ text: String, AppKey) -> String = { text, _ in text }
    /// The field of `Settings`. It identifies the row, so that code names a setting by its field.
    let field: any AnyKeyPath & Sendable
    /// Parses a value and sets the field. Returns a problem if the value is wrong.
    let set: @Sendable (String, SettingOrigin, inout Settings) -> SettingsError?
    /// Copies the field from the first settings to the second.
    let copy: @Sendable (Settings, inout Settings) -> Void

    /// The row that sets a field.
    public static subscript(field: PartialKeyPath<Settings>) -> SettingKey {
        guard let key = all.first(where: { $0.field as AnyKeyPath == field as AnyKeyPath }) else {
            preconditionFailure("\(field) is no setting")
        }
        return key
    }

    /// `a.b_c` is `LAMPLIGHTER_A_B_C`.
    public var environmentName: String { Self.environmentName(path) }

    static func environmentName(_ path: String) -> String {
        "LAMPLIGHTER_" + path.uppercased().map { $0 == "." ? "_" : String($0) }.joined()
    }

    /// `a.b_c` is `--a-b-c`. The name here has no dashes before it.
    public var flagName: String { path.map { $0 == "." || $0 == "_" ? "-" : String($0) }.joined() }

    typealias Field<Value> = any WritableKeyPath<Settings, Value> & Sendable

    /// `expected` completes "must be …" in an error. `parse` returns nil if the text is not `expected`.
    private init<Value>(
        _ field: Field<Value>, _ path: String, _ form: Form, _ defaultText: String?, expected: String,
        parse: @escaping @Sendable (String) -> Value?
    ) {
        self.init(field, path, form, defaultText) { text, origin, settings in
            guard let value = parse(text) else { return .invalid(key: path, origin, found: text, expected: expected) }
            settings[keyPath: field] = value
            return nil
        }
    }

    init<Value>(
        _ field: Field<Value>, _ path: String, _ form: Form, _ defaultText: String?,
        set: @escaping @Sendable (String, SettingOrigin, inout Settings) -> SettingsError?
    ) {
        self.field = field
        copy = { source, target in target[keyPath: field] = source[keyPath: field] }
        self.path = path
        self.form = form
        self.defaultText = defaultText
        self.set = set
    }

    /// Whether its value is kept back wherever settings are shown.
    var isSecret: Bool { secondName == .file || path == "traces.headers" }

    private func with<Value>(_ part: WritableKeyPath<Self, Value>, _ value: Value) -> SettingKey {
        var key = self
        key[keyPath: part] = value
        return key
    }

    /// The same row with the summary that `--help` shows.
    func help(_ summary: String) -> SettingKey { with(\.summary, summary) }

    /// The same row, for a setting that these processes use. Without any, only commands use it.
    func of(_ processes: SettingsChange.Process...) -> SettingKey { with(\.ownUsers, Set(processes)) }

    /// These rows, for a section that one process uses, but for rows that name their processes themselves.
    static func section(of process: SettingsChange.Process, _ keys: [SettingKey]) -> [SettingKey] {
        keys.map { $0.ownUsers == nil ? $0.of(process) : $0 }
    }

    /// The same row, for a setting that a reload changes in these processes.
    func live(_ processes: SettingsChange.Process...) -> SettingKey { with(\.live, Set(processes)) }

    /// The same row, for a setting that a gateway has for a new app only after a restart, if the settings say so.
    func restartsForNewApps(if condition: @escaping @Sendable (Settings) -> Bool) -> SettingKey {
        with(\.restartsForNewApps, condition)
    }

    /// The same row, which is refused without the settings of these paths.
    /// - Parameter remedy: of the error; nil: their summary
    func needs(_ paths: String..., remedy: String? = nil) -> SettingKey { with(\.needs, (paths, remedy)) }

    /// The same row, of whose text operators of an app see a part.
    func shown(_ part: @escaping @Sendable (_ text: String, AppKey) -> String) -> SettingKey { with(\.part, part) }

    /// The same row, for a secret that may also be in a file.
    func orFile() -> SettingKey { with(\.secondName, .file) }

    /// The same row, whose value may also come from another variable.
    func orVariable(_ name: String) -> SettingKey { with(\.otherVariable, name) }

    /// The same row, whose value may come from a variable that other programs read too, if it is set nowhere else.
    func orCommonVariable(_ name: String) -> SettingKey { with(\.lastVariable, name) }

    static func whole(_ field: Field<Int>, _ path: String, _ range: ClosedRange<Int>, _ defaultText: String) -> Self {
        SettingKey(field, path, .whole(range), defaultText, expected: wholes(range)) {
            Int($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Unset by default.
    static func optionalWhole(_ field: Field<Int?>, _ path: String, _ range: ClosedRange<Int>) -> Self {
        SettingKey(field, path, .whole(range), nil, expected: wholes(range)) {
            Int($0).flatMap { range.contains($0) ? .some($0) : nil }
        }
    }

    private static func wholes(_ range: ClosedRange<Int>) -> String {
        "a whole number from \(range.lowerBound) to \(range.upperBound)"
    }

    static func size(_ field: Field<Int>, _ path: String, _ range: ClosedRange<Int>, _ defaultText: String) -> Self {
        let expected = "a size from \(range.lowerBound) to \(range.upperBound) bytes, such as 1M"
        return SettingKey(field, path, .size(range), defaultText, expected: expected) {
            bytes($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// Reads `65536`, `64K` or `1M`.
    private static func bytes(_ text: String) -> Int? {
        for (suffix, factor) in [("K", 1 << 10), ("M", 1 << 20)] where text.uppercased().hasSuffix(suffix) {
            guard let count = Int(text.dropLast()), count >= 0, count <= Int.max / factor else { return nil }
            return count * factor
        }
        return Int(text)
    }

    static func time(
        _ field: Field<Duration>, _ path: String, _ range: ClosedRange<Double>, _ defaultText: String
    ) -> Self {
        func text(_ seconds: Double) -> String {
            seconds < 1 && seconds > 0 ? "\(Int(seconds * 1_000))ms" : "\(Int(seconds))s"
        }
        let expected = "a time from \(text(range.lowerBound)) to \(text(range.upperBound)), such as 10s or 500ms"
        return SettingKey(field, path, .seconds(range), defaultText, expected: expected) {
            TimeText.duration($0).flatMap { range.contains($0) ? .milliseconds(Int64($0 * 1_000)) : nil }
        }
    }

    static func share(
        _ field: Field<Double>, _ path: String, _ range: ClosedRange<Double>, _ defaultText: String
    ) -> Self {
        let expected = "a share from \(range.lowerBound) to \(range.upperBound)"
        return SettingKey(field, path, .share(range), defaultText, expected: expected) {
            TimeText.number($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// One of several words, each with its value.
    static func choice<Value: Sendable>(
        _ field: Field<Value>, _ path: String, _ values: [(String, Value)], _ defaultText: String
    ) -> Self {
        let words = values.map(\.0)
        let known = Dictionary(uniqueKeysWithValues: values)
        let expected = "one of \(words.joined(separator: ", "))"
        return SettingKey(field, path, .choice(words), defaultText, expected: expected) { known[$0] }
    }

    static func host(_ field: Field<String>, _ path: String, _ defaultText: String) -> Self {
        text(field, path, defaultText, expected: "a host name or an address") { text in
            text.isEmpty || text.contains(where: { " /".contains($0) }) ? nil : text
        }
    }

    static func text<Value>(
        _ field: Field<Value>, _ path: String, _ defaultText: String?, expected: String,
        parse: @escaping @Sendable (String) -> Value?
    ) -> Self {
        SettingKey(field, path, .text, defaultText, expected: expected, parse: parse)
    }

    /// A file in PEM, or its text under the secondName's name. A relative path in the configuration file begins at that
    /// file's folder.
    static func file(_ field: Field<String?>, _ path: String) -> Self {
        var key = SettingKey(field, path, .text, nil) { text, origin, settings in
            do throws(SettingsError) {
                settings[keyPath: field] = try SecretFile.path(.init(text: text, origin: origin), of: path)
                return nil
            } catch {
                return error
            }
        }
        key.secondName = .text
        return key
    }
}
