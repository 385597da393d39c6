public import LiveActivity

/// How many tokens a publish would go to.
public struct Reach: Sendable, Hashable {
    public var byPlatform: [Platform: Int] = [:]
    public var tokens: Int { byPlatform.values.reduce(0, +) }
    /// False if the time was up before all tokens were read.
    public var isComplete = true

    fileprivate mutating func add(_ page: TokenPage, _ sign: Int) {
        for entry in page.entries { byPlatform[entry.platform, default: 0] += sign }
    }
}

extension Store {
    private static let tokensOfPage = 5_000

    /// Counts the tokens that a publish would go to if it began now, by reading them until `deadline`. These are the
    /// tokens of the audience that follow the name. For a start, they are the start tokens of its type whose channels
    /// do not follow yet. Quarantined tokens count too.
    public func reach(
        _ app: AppKey, _ publish: Publish, until deadline: ContinuousClock.Instant
    ) async throws(StoreError) -> Reach {
        var reach = Reach()
        for place in publish.places {
            var position = ScanPosition.start
            while position < .end {
                if ContinuousClock.now >= deadline || Task.isCancelled {
                    reach.isComplete = false
                    return reach
                }
                let (page, next) = try await tokens.page(
                    app, place, from: position, to: .end, limit: Self.tokensOfPage)
                let audience = try await channels.filter(app, page, publish.audience)
                reach.add(audience, 1)
                if publish.event == .start, !publish.options.restart, !audience.isEmpty {
                    let starting = (0..<audience.count).map { Array(audience.channel($0)) }
                    reach.add(try await tokens.lookup(app, .activity(publish.name), starting).page, -1)
                }
                position = next
            }
        }
        return reach
    }
}

extension Publish {
    /// Where the tokens are that it goes to.
    fileprivate var places: [TokenPlace] {
        guard event == .start else { return [.activity(name)] }
        return platforms.map { .startTokens(of: $0.startType(attributesType) ?? "") }
    }
}
