import ArgumentParser
import Fanout
import HTTPAPI
import Redis
import Settings

struct SettingFlag: Sendable {
    let key: SettingKey
    let text: String
}

extension Option where Value == SettingFlag? {
    /// The flag of a setting. Its names and its help come from the table of settings. `short` is another name for it.
    init(_ field: PartialKeyPath<Settings>, _ short: String? = nil) {
        let key = SettingKey[field]
        let names = [short, key.flagName].compactMap { $0.map { NameSpecification.Element.customLong($0) } }
        self.init(name: NameSpecification(names), help: ArgumentHelp(key)) { SettingFlag(key: key, text: $0) }
    }
}

/// Flags of settings. A flag is one line: its property.
protocol SettingFlags: ParsableArguments {}

extension SettingFlags {
    var given: [SettingFlag?] {
        Mirror(reflecting: self).children.map { ($0.value as? Option<SettingFlag?>)?.wrappedValue }
    }
}

struct RedisFlags: SettingFlags {
    @Option(\.redisURL) var url: SettingFlag?
    @Option(\.redisTLS.roots) var caFile: SettingFlag?
    @Option(\.redisTLS.certificate) var certFile: SettingFlag?
    @Option(\.redisTLS.key) var keyFile: SettingFlag?
    @Option(\.redisTLS.verification) var verify: SettingFlag?
    @Option(\.redisConnections) var connections: SettingFlag?
    @Option(\.redisPrefix) var prefix: SettingFlag?
}

struct GatewayFlags: SettingFlags {
    @Option(\.gateway.host, "host") var host: SettingFlag?
    @Option(\.gateway.port, "port") var port: SettingFlag?
    @Option(\.gateway.maximumBodyBytes) var maximumBody: SettingFlag?
    @Option(\.gateway.maximumRequests) var maximumConcurrency: SettingFlag?
}

struct WorkerFlags: SettingFlags {
    @Option(\.apns.transport) var transport: SettingFlag?
    @Option(\.apns.lanes, "lanes") var lanes: SettingFlag?
    @Option(\.worker.pageSize) var page: SettingFlag?
    @Option(\.worker.concurrency) var concurrency: SettingFlag?
    @Option(\.worker.claimAfter) var claimAfter: SettingFlag?
    @Option(\.worker.retries.attempts) var maxAttempts: SettingFlag?
    @Option(\.worker.drainTimeout) var drainTimeout: SettingFlag?
    @Option(\.apns.requestTimeout) var requestTimeout: SettingFlag?
    @Option(\.workerName, "name") var name: SettingFlag?
    @Option(\.monitorHost, "host") var host: SettingFlag?
    @Option(\.monitorPort, "port") var port: SettingFlag?
}

extension ArgumentHelp {
    /// Help for an option whose value is shown as `<name>`.
    static func value(_ name: String, _ abstract: String) -> ArgumentHelp {
        ArgumentHelp("\(abstract)", valueName: name)
    }

    /// Help in the form `summary (ENVIRONMENT, default …).`
    init(_ key: SettingKey) {
        var choices = ""
        if case .choice(let values) = key.form { choices = ": \(values.joined(separator: ", "))" }
        let defaultText = key.defaultText.map { ", default \($0)" } ?? ""
        let first = key.summary.prefix(1).uppercased() + key.summary.dropFirst()
        self.init("\(first)\(choices) (\(key.environmentName)\(defaultText)).", valueName: Self.valueName(key))
    }

    private static func valueName(_ key: SettingKey) -> String {
        switch key.form {
        case .text: String(key.path.split(separator: "_").last?.split(separator: ".").last ?? "text")
        case .whole: "number"
        case .size: "bytes"
        case .seconds: "time"
        case .share: "share"
        case .choice: String(key.path.split(separator: ".").last ?? "choice")
        }
    }
}
