internal import OpenSSL

extension SimulatorConfiguration {
    func validate() throws(SimulatorError) {
        func need(_ condition: Bool, _ field: String, _ text: String) throws(SimulatorError) {
            if !condition { throw .configuration(field: field, text) }
        }
        try need(!host.isEmpty, "host", "is empty; give an address such as 127.0.0.1")
        try need((0...65_535).contains(port), "port", "\(port) is not 0 to 65535")
        try need((0...65_535).contains(controlPort ?? 0), "control_port", "\(controlPort ?? 0) is not 0 to 65535")
        try need((0...65_535).contains(managePort ?? 0), "manage_port", "\(managePort ?? 0) is not 0 to 65535")
        try need(channelLimit >= 0, "channel_limit", "\(channelLimit) is negative")
        try need(!certificateDirectory.isEmpty, "certificate_directory", "is empty; name a directory to write to")
        try need(initialStreams >= 0, "initial_streams", "\(initialStreams) is negative")
        try need((1...0x7fff_ffff).contains(streams), "streams", "\(streams) is not 1 or more")
        try need((1...2).contains(ownKeys), "keys", "\(ownKeys) is not 1 or 2")
        try need((1...64).contains(threads), "threads", "\(threads) is not 1 to 64")
        try need((0...10_000).contains(history), "history", "\(history) is not 0 to 10000")
        try need(orderMember != "", "order_member", "is empty; leave it out for no order")
        try need(tokenBytes.lowerBound >= 1, "token_bytes", "begins below 1")
        try need(providerTokenUpdates ?? 0 >= 0, "provider_token_updates", "is negative; leave it out for no limit")
        try fcm?.validate()
        try faults.validate(at: "faults", Reason.self)
        for (index, phase) in (scenario?.phases ?? []).enumerated() {
            try phase.faults.validate(at: "phases[\(index)].faults", Reason.self)
            try need((phase.afterRequests ?? 0) >= 0, "phases[\(index)].after_requests", "is negative")
            try need((phase.afterSeconds ?? 0) >= 0, "phases[\(index)].after_seconds", "is negative")
        }
    }
}

extension Faults {
    /// Checks the values for the service whose reasons these are. An error names the field, with `path` before it.
    func validate<Table: ReasonTable>(at path: String, _ table: Table.Type) throws(SimulatorError) {
        func need(_ condition: Bool, _ field: String, _ text: String) throws(SimulatorError) {
            if !condition { throw .configuration(field: "\(path).\(field)", text) }
        }
        for field in Table.unknownFields(self) { try need(false, field, "this service has no such fault") }
        try validateTokens(table, need)
        let shares = [
            ("dead_share", deadShare), ("reset_share", resetShare), ("stall_share", stallShare),
            ("reorder_share", reorderShare),
        ]
        for (field, share) in shares {
            try need((0...1).contains(share), field, "\(share) is not a share from 0 to 1")
        }
        let all = [
            ("rejections", rejections), ("broadcast_rejections", broadcastRejections),
            ("manage_rejections", manageRejections),
        ]
        for (field, rejections) in all {
            for (name, share) in rejections {
                try need(Table(rawValue: name) != nil, field, Self.unknown(name, table))
                try need((0...1).contains(share), "\(field).\(name)", "\(share) is not a share from 0 to 1")
            }
            try need(rejections.values.reduce(0, +) <= 1, field, "the shares add up to more than 1")
        }
        if let rejectAll { try need(Table(rawValue: rejectAll) != nil, "reject_all", Self.unknown(rejectAll, table)) }
        if let tokenError {
            let known = AccessTokenError.allCases.map(\.rawValue).joined(separator: ", ")
            let isKnown = AccessTokenError(rawValue: tokenError) != nil
            try need(isKnown, "token_error", "\(tokenError) is none of \(known)")
        }
        if let slowEvery { try need(slowEvery >= 1, "slow_every", "\(slowEvery) is not 1 or more") }
        let times = [
            ("latency_ms", latency), ("latency_jitter_ms", latencyJitter), ("slow_latency_ms", slowLatency),
            ("slow_token_latency_ms", slowTokenLatency), ("reorder_ms", reorderDelay),
        ]
        for (field, value) in times {
            try need((0...3_600_000).contains(value), field, "\(value) is not 0 to 3600000 milliseconds")
        }
        let counts = [
            ("expire_next", expireNext), ("manage_lose_next", manageLoseNext), ("stall_after", stallAfter ?? 0),
            ("freeze_after", freezeAfter ?? 0),
            ("goaway_after", goawayAfter ?? 0), ("close_after", closeAfter ?? 0), ("retry_after_s", retryAfter ?? 0),
        ]
        for (field, count) in counts { try need(count >= 0, field, "\(count) is negative") }
        let isPlain = goawayReason.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x22 && $0 != 0x5c && $0 < 0x7f }
        try need(isPlain, "goaway_reason", "has characters that a reason of Apple's has not")
        for (index, change) in settings.enumerated() {
            let field = "settings[\(index)]"
            try need((0...0x7fff_ffff).contains(change.streams), "\(field).streams", "\(change.streams) is negative")
            let number = change.afterRequests
            try need(number >= 1, "\(field).after_requests", "\(number) is not 1 or more")
        }
    }

    private func validateTokens<Table: ReasonTable>(
        _ table: Table.Type,
        _ need: (_ condition: Bool, _ field: String, _ text: String) throws(SimulatorError) -> Void
    ) throws(SimulatorError) {
        let dead = Table.dead.map(\.rawValue)
        let deadText = "only \(dead.joined(separator: ", ")) make a token dead"
        for (name, weight) in deadReasons {
            try need(dead.contains(name), "dead_reasons.\(name)", deadText)
            try need(weight >= 0 && weight.isFinite, "dead_reasons.\(name)", "the weight \(weight) is negative")
        }
        try need(
            deadReasons.isEmpty || deadReasons.values.contains { $0 > 0 }, "dead_reasons",
            "names no reason; leave it out for \(dead[0])")
        for (index, token) in deadTokens.enumerated() {
            try need(Table.isPrefix(token.prefix), "dead_tokens[\(index)].prefix", Table.prefixText)
            if let reason = token.reason { try need(dead.contains(reason), "dead_tokens[\(index)].reason", deadText) }
        }
        for (field, prefixes) in [("stall_tokens", stallTokens), ("slow_tokens", slowTokens)] {
            for (index, prefix) in prefixes.enumerated() {
                try need(Table.isPrefix(prefix), "\(field)[\(index)]", Table.prefixText)
            }
        }
        for (index, token) in refusedTokens.enumerated() {
            try need(Table.isPrefix(token.prefix), "refused_tokens[\(index)].prefix", Table.prefixText)
            let isKnown = Table(rawValue: token.reason) != nil
            try need(isKnown, "refused_tokens[\(index)].reason", Self.unknown(token.reason, table))
        }
        for (key, reason) in refusedKeys {
            try need(Table(rawValue: reason) != nil, "refused_keys.\(key)", Self.unknown(reason, table))
        }
    }

    private static func unknown<Table: ReasonTable>(_ name: String, _ table: Table.Type) -> String {
        "\(name) is no reason of this service; such are \(Table.examples)"
    }
}

extension ProviderKey {
    func read() throws(SimulatorError) -> ProviderTokenCheck.Key {
        let text: String
        let field: String
        switch material {
        case .pem(let pem): (text, field) = (pem, "key \(keyID)")
        case .file(let path):
            guard let content = Files.read(path) else { throw .configuration(field: path, "cannot read the key file") }
            (text, field) = (content, path)
        }
        guard let publicKey = try? P256PublicKey(pem: Array(text.utf8)) else {
            throw .configuration(field: field, "not a P-256 key in PEM form; give Apple's .p8 file or its public key")
        }
        return ProviderTokenCheck.Key(
            keyID: keyID, teamID: teamID, publicKey: publicKey, bundleIDs: Set(bundleIDs), environment: environment)
    }
}
