import ArgumentParser
import Settings

/// The flags of each section. Names and help come from the table of settings.
struct RedisFlags: ParsableArguments {
    @Option(name: .customLong(SettingKey.redisURL.flagName), help: ArgumentHelp(SettingKey.redisURL))
    var url: String?
    @Option(name: .customLong(SettingKey.redisCAFile.flagName), help: ArgumentHelp(SettingKey.redisCAFile))
    var caFile: String?
    @Option(name: .customLong(SettingKey.redisCertFile.flagName), help: ArgumentHelp(SettingKey.redisCertFile))
    var certFile: String?
    @Option(name: .customLong(SettingKey.redisKeyFile.flagName), help: ArgumentHelp(SettingKey.redisKeyFile))
    var keyFile: String?
    @Option(name: .customLong(SettingKey.redisConnections.flagName), help: ArgumentHelp(SettingKey.redisConnections))
    var connections: String?
    @Option(name: .customLong(SettingKey.redisPrefix.flagName), help: ArgumentHelp(SettingKey.redisPrefix))
    var prefix: String?

    var values: [SettingKey: String?] {
        [
            .redisURL: url, .redisCAFile: caFile, .redisCertFile: certFile, .redisKeyFile: keyFile,
            .redisConnections: connections, .redisPrefix: prefix,
        ]
    }
}

struct GatewayFlags: ParsableArguments {
    @Option(
        name: [.customLong("host"), .customLong(SettingKey.gatewayHost.flagName)], help: ArgumentHelp(.gatewayHost))
    var host: String?
    @Option(
        name: [.customLong("port"), .customLong(SettingKey.gatewayPort.flagName)], help: ArgumentHelp(.gatewayPort))
    var port: String?
    @Option(name: .customLong(SettingKey.gatewayMaxBody.flagName), help: ArgumentHelp(.gatewayMaxBody))
    var maximumBody: String?
    @Option(name: .customLong(SettingKey.gatewayMaxConcurrency.flagName), help: ArgumentHelp(.gatewayMaxConcurrency))
    var maximumConcurrency: String?

    var values: [SettingKey: String?] {
        [
            .gatewayHost: host, .gatewayPort: port, .gatewayMaxBody: maximumBody,
            .gatewayMaxConcurrency: maximumConcurrency,
        ]
    }
}

struct WorkerFlags: ParsableArguments {
    @Option(name: .customLong(SettingKey.workerTransport.flagName), help: ArgumentHelp(.workerTransport))
    var transport: String?
    @Option(
        name: [.customLong("lanes"), .customLong(SettingKey.workerLanes.flagName)], help: ArgumentHelp(.workerLanes))
    var lanes: String?
    @Option(name: .customLong(SettingKey.workerStreams.flagName), help: ArgumentHelp(.workerStreams))
    var streams: String?
    @Option(name: .customLong(SettingKey.workerPage.flagName), help: ArgumentHelp(.workerPage))
    var page: String?
    @Option(name: .customLong(SettingKey.workerConcurrency.flagName), help: ArgumentHelp(.workerConcurrency))
    var concurrency: String?
    @Option(name: .customLong(SettingKey.workerClaimAfter.flagName), help: ArgumentHelp(.workerClaimAfter))
    var claimAfter: String?
    @Option(name: .customLong(SettingKey.workerMaxClaims.flagName), help: ArgumentHelp(.workerMaxClaims))
    var maxClaims: String?
    @Option(name: .customLong(SettingKey.workerMaxAttempts.flagName), help: ArgumentHelp(.workerMaxAttempts))
    var maxAttempts: String?
    @Option(name: .customLong(SettingKey.workerDrainTimeout.flagName), help: ArgumentHelp(.workerDrainTimeout))
    var drainTimeout: String?
    @Option(name: .customLong(SettingKey.workerRequestTimeout.flagName), help: ArgumentHelp(.workerRequestTimeout))
    var requestTimeout: String?
    @Option(name: [.customLong("name"), .customLong(SettingKey.workerName.flagName)], help: ArgumentHelp(.workerName))
    var name: String?
    @Option(name: [.customLong("host"), .customLong(SettingKey.workerHost.flagName)], help: ArgumentHelp(.workerHost))
    var host: String?
    @Option(name: [.customLong("port"), .customLong(SettingKey.workerPort.flagName)], help: ArgumentHelp(.workerPort))
    var port: String?

    var values: [SettingKey: String?] {
        [
            .workerTransport: transport, .workerLanes: lanes, .workerStreams: streams, .workerPage: page,
            .workerConcurrency: concurrency, .workerClaimAfter: claimAfter, .workerMaxClaims: maxClaims,
            .workerMaxAttempts: maxAttempts,
            .workerDrainTimeout: drainTimeout, .workerRequestTimeout: requestTimeout,
            .workerName: name, .workerHost: host, .workerPort: port,
        ]
    }
}
