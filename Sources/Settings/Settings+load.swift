import LiveActivity
import Redis
import StrictJSON

extension Settings {
    /// Loads and checks the settings. Throws one error with all problems.
    public static func load(_ input: SettingsInput) throws(SettingsError) -> Settings {
        let file = try input.file.map { (file) throws(SettingsError) in
            try SettingsFile(text: file.text, path: file.path)
        }
        var reader = SettingsReader(flags: input.flags, environment: input.environment, file: file)
        let redisURL = redisURL(&reader)
        let redisTLS = redisTLS(&reader, redisURL)
        let prefix = reader.value(.redisPrefix, or: "", expected: "1 to 32 characters of A-Z a-z 0-9 _ . -") { text in
            text.utf8.count <= 32 && (try? AppKey(text)) != nil ? text : nil
        }
        let waitReplicas = reader.whole(.redisWaitReplicas)
        let waitTimeout = reader.duration(.redisWaitTimeout)
        let gateway = gateway(&reader)
        let worker = worker(&reader)
        let connections = reader.whole(.redisConnections)
        let tagsPerChannel = reader.whole(.limitsTagsPerChannel)
        let quotas = Quotas(
            names: reader.whole(.limitsNames), channels: reader.whole(.limitsChannels),
            followers: reader.whole(.limitsFollowers), startTokens: reader.whole(.limitsStartTokens))
        let pruneGuard = Guard(
            share: reader.share(.guardShare), answers: reader.whole(.guardAnswers),
            window: reader.duration(.guardWindow), memory: reader.duration(.guardMemory))
        let budget = Budget(
            highPerHour: reader.whole(.budgetHighPerHour),
            highPerHourInfrequent: reader.whole(.budgetHighPerHourInfrequent))
        let staleAfter = reader.duration(.defaultsStaleAfter)
        let endAfter = reader.duration(.defaultsEndAfter)
        let lives = Lives(
            start: reader.duration(.defaultsExpiryStart), update: reader.duration(.defaultsExpiryUpdate),
            end: reader.duration(.defaultsExpiryEnd))
        let catchUp = reader.choice(.defaultsCatchUp) == "true"
        let deleteAfter = reader.duration(.broadcastDeleteAfter)
        let startTokensStaleAfter = reader.duration(.startTokensStaleAfter)
        let channelsExpireAfter = reader.duration(.channelsExpireAfter)
        let pacing = reader.duration(.pacingMinInterval)
        let log = Log(level: reader.choice(.logLevel), isJSON: reader.choice(.logFormat) == "json")
        var apps = AppsReader(input: input, file: file)
        let found = apps.read()
        if let error = SettingsError.joined(reader.problems + apps.problems) { throw error }
        guard let redisURL else { throw .missing(key: SettingKey.redisURL.path, remedy: SettingKey.redisURL.summary) }
        return Settings(
            redisURL: redisURL, redisTLS: redisTLS, redisConnections: connections, redisPrefix: prefix,
            waitReplicas: waitReplicas, waitTimeout: waitTimeout, gateway: gateway,
            worker: worker, tagsPerChannel: tagsPerChannel, quotas: quotas, pruneGuard: pruneGuard, budget: budget,
            staleAfter: staleAfter, endAfter: endAfter,
            catchUp: catchUp, lives: lives,
            pacingMinInterval: pacing, broadcastDeleteAfter: deleteAfter, startTokensStaleAfter: startTokensStaleAfter,
            channelsExpireAfter: channelsExpireAfter,
            log: log,
            apps: found,
            warnings: unknownVariables(input.environment) + shownPassword(reader, redisURL) + apps.warnings,
            file: input.file?.path)
    }

    private static func redisURL(_ reader: inout SettingsReader) -> RedisURL? {
        guard let text = reader.text(.redisURL) else { return nil }
        do {
            return try RedisURL(text)
        } catch {
            // The text may hold a password, so only the parser's own message is shown.
            reader.problems.append(
                .malformed(reader.origin(.redisURL), reason: "\(SettingKey.redisURL.path): \(error.description)"))
            return nil
        }
    }

    /// TLS files without a TLS URL are an error, because the operator would believe that the connection is encrypted.
    private static func redisTLS(_ reader: inout SettingsReader, _ url: RedisURL?) -> RedisTLSFiles {
        let files = RedisTLSFiles(
            roots: reader.path(.redisCAFile), certificate: reader.path(.redisCertFile), key: reader.path(.redisKeyFile))
        if let url, !url.usesTLS {
            for key in [SettingKey.redisCAFile, .redisCertFile, .redisKeyFile] where reader.text(key) != nil {
                reader.problems.append(
                    .conflict(
                        key: key.path, reader.origin(key),
                        reason:
                            "\(SettingKey.redisURL.path) asks for no TLS: it must begin with rediss, or this be removed"
                    ))
            }
        }
        if files.certificate != nil, files.key == nil {
            reader.problems.append(.missing(key: SettingKey.redisKeyFile.path, remedy: SettingKey.redisKeyFile.summary))
        }
        if files.key != nil, files.certificate == nil {
            reader.problems.append(
                .missing(
                    key: SettingKey.redisCertFile.path, remedy: "redis.key_file is the private key of what it names"))
        }
        return files
    }

    /// Host and port in the form of a URL.
    public static func authority(_ host: String, _ port: Int) -> String {
        (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
    }

    private static func gateway(_ reader: inout SettingsReader) -> Gateway {
        let host = reader.host(.gatewayHost)
        let port = reader.whole(.gatewayPort)
        let reachable = ["0.0.0.0", "::", "*"].contains(host) ? "127.0.0.1" : host
        let derived = "http://" + authority(reachable, port)
        let url = reader.value(.gatewayURL, or: derived, expected: "http://host:port or https://host", address)
        let publicURL: String? = reader.value(.gatewayPublicURL, or: nil, expected: "https://host") { text in
            address(text).map(Optional.some)
        }
        return Gateway(
            host: host, port: port, url: url, publicURL: publicURL, maximumBody: reader.whole(.gatewayMaxBody),
            maximumConcurrency: reader.whole(.gatewayMaxConcurrency),
            maximumConcurrencyApp: reader.optionalWhole(.gatewayMaxConcurrencyApp),
            maximumConcurrencyDevice: reader.optionalWhole(.gatewayMaxConcurrencyDevice),
            maximumBodyMemory: reader.whole(.gatewayMaxBodyMemory),
            maximumConnections: reader.whole(.gatewayMaxConnections),
            maximumConnectionsPerAddress: reader.whole(.gatewayMaxConnectionsPerAddress),
            maximumQueue: reader.whole(.gatewayMaxQueue),
            maximumQueueTotal: reader.whole(.gatewayMaxQueueTotal))
    }

    /// Removes slashes at the end. Nil if the text is not an HTTP address.
    private static func address(_ text: String) -> String? {
        guard text.hasPrefix("http://") || text.hasPrefix("https://"), !text.contains(" ") else { return nil }
        var address = text
        while address.hasSuffix("/") { address.removeLast() }
        return address
    }

    private static func worker(_ reader: inout SettingsReader) -> Worker {
        let name: String? = reader.value(.workerName, or: nil, expected: "1 to 128 bytes without control characters") {
            text in
            (try? checkText(text, what: "", maximumBytes: 128)) == nil ? nil : .some(text)
        }
        return Worker(
            transport: Worker.Transport(rawValue: reader.choice(.workerTransport)) ?? .libcurl,
            lanes: reader.whole(.workerLanes), streams: reader.whole(.workerStreams), page: reader.whole(.workerPage),
            concurrency: reader.whole(.workerConcurrency), claimAfter: reader.duration(.workerClaimAfter),
            maxClaims: reader.whole(.workerMaxClaims), maxAttempts: reader.whole(.workerMaxAttempts),
            drainTimeout: reader.duration(.workerDrainTimeout), requestTimeout: reader.duration(.workerRequestTimeout),
            name: name, host: reader.host(.workerHost),
            port: reader.text(.workerPort) == nil ? nil : reader.whole(.workerPort))
    }

    /// Warns of a password in a flag, because the list of processes shows flags.
    private static func shownPassword(_ reader: SettingsReader, _ url: RedisURL) -> [String] {
        guard case .flag(let name) = reader.origin(.redisURL), url.holdsPassword else { return [] }
        return [
            "--\(name) holds a password, which every user of this machine sees: "
                + "use \(SettingKey.redisURL.environmentName) or the file"
        ]
    }

    private static func unknownVariables(_ environment: [String: String]) -> [String] {
        let known =
            SettingKey.all.map(\.environmentName) + AppField.allCases.map(\.environmentName) + [
                SettingsInput.fileVariable
            ]
        return environment.keys.filter { $0.hasPrefix("LAMPLIGHTER_") && !known.contains($0) }.sorted().map { name in
            "the environment variable \(name) is not known and is ignored"
                + (known.nearest(to: name).map { "; did you mean \($0)?" } ?? "")
        }
    }
}
