import ArgumentParser
import Settings

/// A setting that was given as a flag.
struct SettingFlag: Sendable {
    let key: SettingKey
    let text: String
}

extension Option where Value == SettingFlag? {
    /// The flag of a setting. Its names and its help come from the table of settings.
    /// - Parameter short: another name for it, such as `port`
    init(_ key: SettingKey, _ short: String? = nil) {
        let names = [short, key.flagName].compactMap { $0.map { NameSpecification.Element.customLong($0) } }
        self.init(name: NameSpecification(names), help: ArgumentHelp(key)) { SettingFlag(key: key, text: $0) }
    }
}

/// Flags of settings. A flag is one line: its property.
protocol SettingFlags: ParsableArguments {}

extension SettingFlags {
    /// The flags that were given.
    var given: [SettingFlag?] {
        Mirror(reflecting: self).children.map { ($0.value as? Option<SettingFlag?>)?.wrappedValue }
    }
}

struct RedisFlags: SettingFlags {
    @Option(.redisURL) var url: SettingFlag?
    @Option(.redisCAFile) var caFile: SettingFlag?
    @Option(.redisCertFile) var certFile: SettingFlag?
    @Option(.redisKeyFile) var keyFile: SettingFlag?
    @Option(.redisConnections) var connections: SettingFlag?
    @Option(.redisPrefix) var prefix: SettingFlag?
}

struct GatewayFlags: SettingFlags {
    @Option(.gatewayHost, "host") var host: SettingFlag?
    @Option(.gatewayPort, "port") var port: SettingFlag?
    @Option(.gatewayMaxBody) var maximumBody: SettingFlag?
    @Option(.gatewayMaxConcurrency) var maximumConcurrency: SettingFlag?
}

struct WorkerFlags: SettingFlags {
    @Option(.workerTransport) var transport: SettingFlag?
    @Option(.workerLanes, "lanes") var lanes: SettingFlag?
    @Option(.workerStreams) var streams: SettingFlag?
    @Option(.workerPage) var page: SettingFlag?
    @Option(.workerConcurrency) var concurrency: SettingFlag?
    @Option(.workerClaimAfter) var claimAfter: SettingFlag?
    @Option(.workerMaxClaims) var maxClaims: SettingFlag?
    @Option(.workerMaxAttempts) var maxAttempts: SettingFlag?
    @Option(.workerDrainTimeout) var drainTimeout: SettingFlag?
    @Option(.workerRequestTimeout) var requestTimeout: SettingFlag?
    @Option(.workerName, "name") var name: SettingFlag?
    @Option(.workerHost, "host") var host: SettingFlag?
    @Option(.workerPort, "port") var port: SettingFlag?
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
