/// A key of any name, used to find unknown keys. A misspelt fault without an effect would make a test that cannot fail.
struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

extension Decoder {
    /// Throws unless every key of this object is one of `Key`.
    func strictContainer<Key: CodingKey & CaseIterable>(_ type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        for key in try container(keyedBy: AnyKey.self).allKeys where Key(stringValue: key.stringValue) == nil {
            let known = Key.allCases.map(\.stringValue).joined(separator: ", ")
            let text = "unknown key \(key.stringValue); known are \(known)"
            throw DecodingError.dataCorrupted(.init(codingPath: codingPath + [key], debugDescription: text))
        }
        return try container(keyedBy: type)
    }
}

extension Faults: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case deadShare = "dead_share"
        case deadReasons = "dead_reasons"
        case deadSince = "dead_since_ms"
        case deadTokens = "dead_tokens"
        case refusedTokens = "refused_tokens"
        case rejections
        case retryAfter = "retry_after_s"
        case rejectAll = "reject_all"
        case expireNext = "expire_next"
        case refusedKeys = "refused_keys"
        case expireIssuedBefore = "expire_issued_before"
        case latency = "latency_ms"
        case latencyJitter = "latency_jitter_ms"
        case resetShare = "reset_share"
        case resetCode = "reset_code"
        case resetDelivers = "reset_delivers"
        case stallTokens = "stall_tokens"
        case slowTokens = "slow_tokens"
        case slowTokenLatency = "slow_token_latency_ms"
        case stallShare = "stall_share"
        case stallDelivers = "stall_delivers"
        case broadcastRejections = "broadcast_rejections"
        case manageRejections = "manage_rejections"
        case manageLoseNext = "manage_lose_next"
        case reorderShare = "reorder_share"
        case reorderDelay = "reorder_ms"
        case tokenError = "token_error"
        case stallAfter = "stall_after"
        case freezeAfter = "freeze_after"
        case goawayAfter = "goaway_after"
        case goawayMode = "goaway_mode"
        case goawayReason = "goaway_reason"
        case closeAfter = "close_after"
        case refuseConnections = "refuse_connections"
        case silence
        case slowEvery = "slow_every"
        case slowLatency = "slow_latency_ms"
        case settings
        case settingsDropOnRejection = "settings_drop_on_rejection"
    }

    public init(from decoder: any Decoder) throws {
        self.init()
        let values = try decoder.strictContainer(CodingKeys.self)
        func read<Value: Decodable>(_ field: inout Value, _ key: CodingKeys) throws {
            if let value = try values.decodeIfPresent(Value.self, forKey: key) { field = value }
        }
        try read(&deadShare, .deadShare)
        try read(&deadReasons, .deadReasons)
        try read(&deadSince, .deadSince)
        try read(&deadTokens, .deadTokens)
        try read(&refusedTokens, .refusedTokens)
        try read(&rejections, .rejections)
        try read(&retryAfter, .retryAfter)
        try read(&rejectAll, .rejectAll)
        try read(&expireNext, .expireNext)
        try read(&refusedKeys, .refusedKeys)
        try read(&expireIssuedBefore, .expireIssuedBefore)
        try read(&latency, .latency)
        try read(&latencyJitter, .latencyJitter)
        try read(&resetShare, .resetShare)
        try read(&resetCode, .resetCode)
        try read(&resetDelivers, .resetDelivers)
        try read(&stallTokens, .stallTokens)
        try read(&slowTokens, .slowTokens)
        try read(&slowTokenLatency, .slowTokenLatency)
        try read(&stallShare, .stallShare)
        try read(&stallDelivers, .stallDelivers)
        try read(&broadcastRejections, .broadcastRejections)
        try read(&manageRejections, .manageRejections)
        try read(&manageLoseNext, .manageLoseNext)
        try read(&reorderShare, .reorderShare)
        try read(&reorderDelay, .reorderDelay)
        try read(&tokenError, .tokenError)
        try read(&stallAfter, .stallAfter)
        try read(&freezeAfter, .freezeAfter)
        try read(&goawayAfter, .goawayAfter)
        try read(&goawayMode, .goawayMode)
        try read(&goawayReason, .goawayReason)
        try read(&closeAfter, .closeAfter)
        try read(&refuseConnections, .refuseConnections)
        try read(&silence, .silence)
        try read(&slowEvery, .slowEvery)
        try read(&slowLatency, .slowLatency)
        try read(&settings, .settings)
        try read(&settingsDropOnRejection, .settingsDropOnRejection)
    }

    /// Reads and validates the body of `POST /simulator/faults`, or the text of a file. Errors name `source`.
    public static func parse(_ json: [UInt8], source: String) throws(SimulatorError) -> Faults {
        try parse(json, source: source, Reason.self)
    }

    static func parse(
        _ json: [UInt8], source: String, _ table: (some ReasonTable).Type
    ) throws(SimulatorError) -> Faults {
        let faults: Faults = try JSON.decode(json, source: source)
        try faults.validate(at: source, table)
        return faults
    }
}

extension DeadToken: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case prefix, reason
        case since = "since_ms"
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.strictContainer(CodingKeys.self)
        prefix = try values.decode(String.self, forKey: .prefix)
        reason = try values.decodeIfPresent(String.self, forKey: .reason)
        since = try values.decodeIfPresent(Int.self, forKey: .since)
    }
}

extension RefusedToken: Decodable {
    enum CodingKeys: CodingKey, CaseIterable { case prefix, reason }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.strictContainer(CodingKeys.self)
        prefix = try values.decode(String.self, forKey: .prefix)
        reason = try values.decode(String.self, forKey: .reason)
    }
}

extension StreamLimitChange: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case afterRequests = "after_requests"
        case streams
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.strictContainer(CodingKeys.self)
        afterRequests = try values.decode(Int.self, forKey: .afterRequests)
        streams = try values.decode(Int.self, forKey: .streams)
    }
}

extension Scenario: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable { case phases }

    public init(from decoder: any Decoder) throws {
        phases = try decoder.strictContainer(CodingKeys.self).decode([Phase].self, forKey: .phases)
    }

    /// Reads and validates a scenario file.
    public static func read(file path: String) throws(SimulatorError) -> Scenario {
        guard let text = Files.read(path) else { throw .configuration(field: path, "cannot read the scenario file") }
        let scenario: Scenario = try JSON.decode(Array(text.utf8), source: path)
        for (index, phase) in scenario.phases.enumerated() {
            try phase.faults.validate(at: "\(path): phases[\(index)].faults", Reason.self)
        }
        return scenario
    }
}

extension Scenario.Phase: Decodable {
    enum CodingKeys: String, CodingKey, CaseIterable {
        case afterRequests = "after_requests"
        case afterSeconds = "after_seconds"
        case faults
    }

    public init(from decoder: any Decoder) throws {
        let values = try decoder.strictContainer(CodingKeys.self)
        afterRequests = try values.decodeIfPresent(Int.self, forKey: .afterRequests)
        afterSeconds = try values.decodeIfPresent(Double.self, forKey: .afterSeconds)
        faults = try values.decode(Faults.self, forKey: .faults)
    }
}
