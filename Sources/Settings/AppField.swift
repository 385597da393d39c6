import LiveActivity
import Store

/// A field of one served app. It is set under `apps:` in the file or, for a single app, in the environment.
///
/// Each field is one row of `AppField+all.swift`. Reading, errors, reloads and `settings` of an app read the rows.
public struct AppField: Sendable, Hashable, CustomStringConvertible {
    /// A condition for a change of the field, from an app's running settings to the settings that were read again.
    typealias Condition = @Sendable (_ old: AppSettings, _ new: AppSettings) -> Bool

    /// The path of the field inside an entry of `apps:`.
    public let path: String
    public let summary: String
    let rule: Rule
    /// The field's second name: `…_file` of a secret, the text of a PEM file. A secret may have a field for its file.
    private(set) var secondName: SecondName?
    /// Whether its value is kept back wherever settings are shown.
    public private(set) var isSecret = false
    /// The content of the file that the value names. Nil: the value names no file.
    public private(set) var content: Content?
    var isPath: Bool { content != nil }
    /// Problems of an app that sets the field, beside the field's rule.
    private(set) var problems: @Sendable (WrittenApp) -> [SettingsError] = { _ in [] }
    /// Fields without which it is refused. A closure, because two fields may need each other.
    private(set) var needs: @Sendable () -> [AppField] = { [] }
    /// Whether a process uses the field, for a change of it.
    private var uses: @Sendable (SettingsChange.Process) -> Condition
    /// Whether a running process can take the change.
    let isLive: Condition
    static let always: Condition = { _, _ in true }

    /// - Parameters:
    ///   - processes: the processes that use the field
    ///   - isLive: when a reload changes it in all of these processes
    init(
        _ path: String, _ summary: String, _ rule: Rule, _ processes: SettingsChange.Process...,
        live isLive: @escaping Condition = { _, _ in false }
    ) {
        let users = Set(processes)
        (self.path, self.summary, self.rule, self.isLive) = (path, summary, rule, isLive)
        uses = { process in { _, _ in users.contains(process) } }
    }

    /// The content of a file: a secret, PEM roots of a server for a worker, or anything that its reader checks.
    public enum Content: Sendable { case secret, roots, other }

    /// A file.
    static func file(
        _ path: String, _ summary: String, holds content: Content = .other, orText: Bool = true,
        of process: SettingsChange.Process = .worker,
        live isLive: @escaping Condition = { _, _ in false }
    ) -> AppField {
        var field = AppField(path, summary, .path, process, live: isLive)
        (field.content, field.secondName) = (content, orText ? .text : nil)
        return field
    }

    /// The same row, whose value is kept back.
    func secret(orFile: Bool) -> AppField {
        var field = self
        (field.isSecret, field.secondName) = (true, orFile ? .file : nil)
        return field
    }

    /// The same row, which one more process uses, for some changes of it.
    func used(by other: SettingsChange.Process, if condition: @escaping Condition) -> AppField {
        var field = self
        let before = uses
        field.uses = { process in { before(process)($0, $1) || process == other && condition($0, $1) } }
        return field
    }

    /// The same row, for a field that is refused without others.
    func needs(_ fields: @autoclosure @escaping @Sendable () -> [AppField]) -> AppField {
        var field = self
        field.needs = fields
        return field
    }

    /// The same row, for a field whose value must fit other fields.
    func refused(if problems: @escaping @Sendable (WrittenApp) -> [SettingsError]) -> AppField {
        var field = self
        field.problems = problems
        return field
    }

    /// Whether the process uses the field, for a change from the old settings of the app to the new ones.
    func isUsed(by process: SettingsChange.Process, from old: AppSettings, to new: AppSettings) -> Bool {
        uses(process)(old, new)
    }

    /// The rule that the value breaks. Nil if it breaks none.
    public func violation(_ value: String) -> String? { rule.violation(value) }

    public static func == (left: AppField, right: AppField) -> Bool { left.path == right.path }
    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
    public var description: String { path }

    public var environmentName: String { Self.environmentName(path) }
    var secondPath: String? { secondName?.path(of: path) }
    var secondEnvironmentName: String? { secondPath.map(Self.environmentName) }
    private static func environmentName(_ path: String) -> String {
        let isPlatform = ["apns.", "fcm."].contains { path.hasPrefix($0) }
        return SettingKey.environmentName(isPlatform ? path : "app." + path)
    }

    /// The fields of an APNs key: its id and its file, which need each other.
    public struct KeyPair: Sendable, Hashable {
        public let id: AppField
        public let file: AppField
    }
    public static let firstKey = KeyPair(id: .keyID, file: .keyFile)
    public static let nextKey = KeyPair(id: .nextKeyID, file: .nextKeyFile)
    public static let sandboxKey = KeyPair(id: .sandboxKeyID, file: .sandboxKeyFile)
}

extension AppField {
    /// The form of a value.
    struct Rule: Sendable {
        /// The rule in words. Nil: the value keeps it.
        let violation: @Sendable (String) -> String?
        /// The value without an ending that it may have and does not need.
        private(set) var cleaned: @Sendable (String) -> String = { $0 }
        /// Whether the value is a secret that somebody could guess if it is short.
        private(set) var isGuessable = false

        init(_ violation: @escaping @Sendable (String) -> String?) { self.violation = violation }
        /// - Parameter words: they complete "must be …" in an error
        init(_ words: String, _ isAllowed: @escaping @Sendable (String) -> Bool) {
            violation = { isAllowed($0) ? nil : words }
        }

        static let path = Rule { _ in nil }
        static let appKey = Rule(AppKey.rule, AppKey.isKey)
        static let secret: Rule = {
            var rule = Rule("8 to 256 characters without spaces") { has($0, 8...256) { $0 > 0x20 && $0 != 0x7F } }
            rule.isGuessable = true
            return rule
        }()
        static let appleID = Rule("letters and digits (Apple's have ten)") { has($0, 1...32, of: \.isLetterOrDigit) }
        static let flag = words("true", "false")
        /// `https://host[:port]`, with or without a slash at its end.
        static let origin: Rule = {
            var rule = Rule("https://host or https://host:port, without a path") { value in
                let rest = value.hasPrefix("https://") ? value.dropFirst(8) : ""
                return !rest.isEmpty && !rest.contains("/") && !rest.contains(" ")
            }
            rule.cleaned = { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
            return rule
        }()
        static let bundleID = Rule { value in
            let topic = ".push-type.liveactivity"
            if value.hasSuffix(topic) { return "a bundle id without \(topic)" }
            return has(value, 1...155, of: \.isURLUnreserved) ? nil : "a bundle id such as com.example.shop"
        }
        static let rate = Rule("a whole number from 0 to 10000000") {
            Int($0).map((0...10_000_000).contains) == true
        }
        static let expiry = time(1...86_400, "from 1s to 24h")
        static let age = time(0...28_800, "from 0 to 8h")

        static func words(_ words: String...) -> Rule {
            let all = words.dropLast().joined(separator: ", ") + " or \(words.last ?? "")"
            return Rule(all, words.contains)
        }

        private static func time(_ seconds: ClosedRange<Double>, _ words: String) -> Rule {
            Rule("a time \(words), such as 15m") { TimeText.duration($0).map(seconds.contains) == true }
        }

        private static func has(
            _ value: String, _ lengths: ClosedRange<Int>, of isAllowed: (UInt8) -> Bool
        ) -> Bool {
            lengths.contains(value.utf8.count) && value.utf8.allSatisfy(isAllowed)
        }
    }
}
