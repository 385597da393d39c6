/// The push-to-start tokens of a run. Each of the first channels has one, and all are of one attributes type.
struct StartTokens: Sendable {
    /// Takes the place of the name in such a token, because it belongs to no name.
    static let name = UInt16.max

    let fates: [Fate]
    /// Epoch ms at which they were registered.
    let registered: Int64

    static func isOne(_ id: TokenID) -> Bool { id.name == name }

    func id(_ channel: Int) -> TokenID {
        TokenID(name: Self.name, place: UInt32(channel), generation: 1, fate: fates[channel])
    }

    var ids: [TokenID] { fates.indices.map(id) }

    static func register(_ plan: Plan, _ gateways: Gateways) async throws -> StartTokens {
        var random = SeededRandom(plan.seed, "start tokens")
        let count = plan.names.filter(\.isStarted).map(\.pool).max() ?? 0
        let tokens = StartTokens(
            fates: (0..<count).map { _ in Tokens.fate(&random, size: count, living: 0..<Plan.cohorts) },
            registered: Clock.epoch)
        let lines = tokens.ids.map { id in
            let channel = Activity.channel(Int(id.place))
            return #"{"channel":"\#(channel)","token":"\#(Tokens.hex(id))","registered_at_ms":\#(tokens.registered)}"#
                + "\n"
        }
        let answer = try await gateways.call(
            "POST", "/api/start-tokens/\(Plan.attributesType)/channels", lines.joined(), timeout: .seconds(60))
        guard answer.status == 200, answer.json["rejected_count"] as? Int == 0 else {
            throw ChaosFailure("start tokens: \(answer.status) \(answer.text)")
        }
        return tokens
    }
}
