import Fanout
import HTTPAPI
import LiveActivity
import OpenSSL
import Redis
import Store
import StrictJSON

extension Settings {
    /// Loads and checks the settings. Throws one error with all problems.
    public static func load(_ input: SettingsInput) throws(SettingsError) -> Settings {
        var input = input
        let links = ServiceLinks.names(input.environment)
        for name in links { input.environment[name] = nil }
        let file = try input.file.map { (file) throws(SettingsError) in
            try SettingsFile(text: file.text, path: file.path)
        }
        var settings = Settings()
        var problems = file?.problems ?? []
        var origins: [String: SettingOrigin] = [:]
        var quoted: [String] = []
        for key in SettingKey.all {
            guard var (text, origin) = value(of: key, input, file, &problems) else { continue }
            var problem = key.set(text, origin, &settings)
            if problem != nil, let common = key.otherVariable, origin == .environment(common) {
                settings.portProblem = problem
                var others = input
                others.environment[common] = nil
                guard let next = value(of: key, others, file, &problems) else { continue }
                (text, origin) = next
                problem = key.set(text, origin, &settings)
            }
            if SettingsInput.isQuoted(text) { quoted.append("\(key.path) (\(origin))") }
            if let problem { problems.append(problem) } else { origins[key.path] = origin }
            if origin == .environment("PORT") { settings.hasCommonPort = true }
            settings.texts[key.path] = text
        }
        problems += settings.tlsProblems(origins) + missing(origins)
        var apps = AppsReader(input: input, file: file)
        settings.apps = apps.read()
        if let error = SettingsError.joined(problems + apps.problems) { throw error }
        settings.derive()
        settings.warnings = ServiceLinks.warning(links) + unknownVariables(input.environment)
        settings.warnings += settings.shownPassword(origins["redis.url"]) + apps.warnings
        for place in quoted + apps.quoted {
            settings.warnings.append("\(place) is in quotes, which count as a part of it: remove them")
        }
        settings.file = input.file?.path
        settings.origins = origins
        return settings
    }

    /// Sets the fields that follow from others.
    mutating func derive() {
        // A gateway needs settings of workers: how they begin pushes, the budget for its warnings, and the age from
        // which start tokens are shown as stale.
        gateway.budget = worker.budget
        gateway.handing = Handing(
            minInterval: worker.minInterval, lease: worker.claimAfter, budget: worker.budget)
        gateway.monitorSecret = monitorSecret
        gateway.hasOwnMonitor = gatewayMonitorPort != nil
        gateway.startTokensStaleAfter = worker.startTokensStaleAfter
        guard gatewayURL.isEmpty else { return }
        let reachable = ["0.0.0.0", "::", "*"].contains(gateway.host) ? "127.0.0.1" : gateway.host
        let scheme = gatewayTLS.certificate == nil ? "http" : "https"
        gatewayURL = "\(scheme)://" + Self.authority(reachable, gateway.port)
    }

    /// The value of a setting and its source, the strongest first: flag, environment, file, default.
    private static func value(
        of key: SettingKey, _ input: SettingsInput, _ file: SettingsFile?, _ problems: inout [SettingsError]
    ) -> (text: String, origin: SettingOrigin)? {
        func variable(_ name: String?) -> SettingsFile.Entry? {
            // An empty variable counts as unset, because templates of containers leave such variables.
            guard let name, let text = input.environment[name], !text.isEmpty else { return nil }
            return .init(text: text, origin: .environment(name))
        }
        if let text = input.flags[key.path] { return (text, .flag(key.flagName)) }
        let secondName = key.secondName?.path(of: key.path)
        let sources = [
            (
                variable(key.environmentName) ?? variable(key.otherVariable),
                secondName.flatMap { variable(SettingKey.environmentName($0)) }
            ),
            (file?.values[key.path], secondName.flatMap { file?.values[$0] }),
        ]
        for (own, other) in sources where own != nil || other != nil {
            do throws(SettingsError) {
                guard let entry = try SecondName.entry(own, other, key.secondName, key.path) else { continue }
                return (entry.text, entry.origin)
            } catch {
                problems.append(error)
                return nil
            }
        }
        if let entry = variable(key.lastVariable) { return (entry.text, entry.origin) }
        return key.defaultText.map { ($0, .builtIn) }
    }

    /// The settings that others need.
    /// - Parameter origins: the sources of the values that are right
    private static func missing(_ origins: [String: SettingOrigin]) -> [SettingsError] {
        let isSet = SettingKey.all.filter { origins[$0.path] != nil }
        return SettingKey.all.filter { origins[$0.path] == nil }.compactMap { key in
            isSet.first { $0.needs.paths.contains(key.path) }
                .map { .missing(key: key.path, remedy: $0.needs.remedy ?? key.summary) }
        }
    }

    /// TLS files without a TLS URL are an error, because the operator would believe that the connection is encrypted.
    /// - Parameter origins: the sources of the values that are right
    private func tlsProblems(_ origins: [String: SettingOrigin]) -> [SettingsError] {
        var problems: [SettingsError] = []
        let isPlain = origins["redis.url"] != nil && !redisURL.usesTLS
        for path in ["redis.ca_file", "redis.cert_file", "redis.key_file", "redis.verify"] where isPlain {
            guard let origin = origins[path], origin != .builtIn else { continue }
            let reason = "redis.url has no TLS: it must begin with rediss, or this be removed"
            problems.append(.conflict(key: path, origin, reason: reason))
        }
        if redisTLS.verification != .roots, let origin = origins["redis.ca_file"] {
            let reason = "redis.verify asks for no CA: remove one of them"
            problems.append(.conflict(key: "redis.ca_file", origin, reason: reason))
        }
        return problems
    }

    /// Host and port in the form of a URL.
    public static func authority(_ host: String, _ port: Int) -> String {
        (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }

    /// Warns of a password in a flag, because the list of processes shows flags.
    private func shownPassword(_ origin: SettingOrigin?) -> [String] {
        guard case .flag(let name) = origin, redisURL.holdsPassword else { return [] }
        let remedy = "use \(SettingKey[\.redisURL].environmentName) or the file"
        return ["--\(name) holds a password, which every user of this machine can see: \(remedy)"]
    }

    private static func unknownVariables(_ environment: [String: String]) -> [String] {
        let secondNames = SettingKey.all.compactMap { key in
            key.secondName.map { SettingKey.environmentName($0.path(of: key.path)) }
        }
        let ofApps = AppField.all.flatMap { [$0.environmentName, $0.secondEnvironmentName].compactMap(\.self) }
        let known = SettingKey.all.map(\.environmentName) + secondNames + ofApps + [SettingsInput.fileVariable]
        return environment.keys.filter { $0.hasPrefix("LAMPLIGHTER_") && !known.contains($0) }.sorted().map { name in
            "the environment variable \(name) is unknown and ignored"
                + (known.nearest(to: name).map { "; did you mean \($0)?" } ?? "")
        }
    }
}

/// The variables that Kubernetes sets in each pod for each service of its namespace. A service called
/// `lamplighter-gateway` has `LAMPLIGHTER_GATEWAY_PORT=tcp://10.96.0.7:8080`, which is the name of a setting.
enum ServiceLinks {
    static func names(_ environment: [String: String]) -> [String] {
        environment.filter { $0.key.hasPrefix("LAMPLIGHTER_") && isLink($0.key, $0.value) }.keys.sorted()
    }

    private static func isLink(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") || name.contains("_SERVICE_PORT") { return true }
        // `…_PORT=tcp://…`, `…_PORT_8080_TCP=tcp://…` and the parts of these addresses.
        if name.hasSuffix("_PORT") { return ["tcp://", "udp://", "sctp://"].contains { value.hasPrefix($0) } }
        guard let port = name.firstRange(of: "_PORT_") else { return false }
        return name[port.upperBound...].first?.isNumber == true
    }

    static func warning(_ names: [String]) -> [String] {
        guard !names.isEmpty else { return [] }
        return [
            "\(names.joined(separator: ", ")): variables of Kubernetes for its services, and ignored; "
                + "enableServiceLinks: false in the pod leaves them out"
        ]
    }
}
