import LiveActivity
import Store

extension Settlement {
    /// A page that was read from the registry. Its tokens are counted as targets for the first time.
    /// - Parameter endedAt: when an `end` was delivered (epoch ms), which removes its tokens; nil for other events
    init(firstAttempt page: TokenPage, _ report: PageReport, endedAt: Int64?, range: Range<ScanPosition>) {
        self.init(range: range)
        targets = page.count
        (retries, duplicatesPossible) = (report.retries, report.duplicatesPossible)
        (errors, stop) = (report.errors, report.stop)
        for exception in report.exceptions {
            switch exception.decision {
            case .failed:
                count(.failed)
                if exception.isGivenUp { giveUp(page.channel(exception.index), reason: exception.reason) }
            case .expired: count(.expired)
            case .dead(let removal): remove(removal)
            case .retry(let due, let attempts): retry(page.channel(exception.index), due: due, attempts: attempts)
            }
        }
        guard let endedAt else {
            count(.delivered, report.delivered)
            return
        }
        for index in report.deliveredIndices(page) {
            remove(TokenRemoval(channel: Array(page.channel(index)), token: Array(page.token(index)), endedAt: endedAt))
        }
    }

    /// Tokens that are not sent to, all with the same outcome.
    init(unsent count: Int, as field: SettledField, range: Range<ScanPosition>) {
        self.init(range: range)
        targets = count
        self.count(field, count)
    }
}

extension RetrySettlement {
    /// A page of waiting channels, which all have the same first push in their retry queues.
    /// - Parameters:
    ///   - endedAt: when an `end` was delivered (epoch ms); nil for other events
    ///   - staleBefore: for a start, a time (epoch ms); tokens that were last reported before it are stale
    init(_ waiting: [WaitingChannel], _ report: PageReport, endedAt: Int64?, staleBefore: Int64? = nil) {
        self.init()
        let exceptions = Dictionary(uniqueKeysWithValues: report.exceptions.map { ($0.index, $0) })
        let open = Set(report.open)
        for (index, channel) in waiting.enumerated() where !open.contains(index) {
            guard let exception = exceptions[index] else {
                if let endedAt, let token = channel.token {
                    remove(channel, TokenRemoval(channel: channel.channel, token: token, endedAt: endedAt))
                } else {
                    finish(channel, as: .delivered, isStale: staleBefore.map { channel.registeredAt < $0 } ?? false)
                }
                continue
            }
            switch exception.decision {
            case .failed: finish(channel, as: .failed, reason: exception.reason, isGivenUp: exception.isGivenUp)
            case .expired: finish(channel, as: .expired, reason: exception.reason)
            case .dead(let removal): remove(channel, removal)
            case .retry(let due, let attempts):
                postpone(
                    channel, due: due, attempts: attempts, reason: exception.reason,
                    mayBeDuplicate: exception.mayBeDuplicate)
            }
        }
        if let stop = report.stop, let push = waiting.first?.push { self.stop(push, reason: stop) }
    }
}

extension TokenPage {
    /// Waiting channels with the tokens that they have now. Each must have one.
    init(_ waiting: [WaitingChannel]) {
        self.init(
            reservingEntries: waiting.count,
            bytes: waiting.reduce(0) { $0 + $1.channel.count + ($1.token?.count ?? 0) })
        for one in waiting { append(one, route: one.livesElsewhere ? .elsewhere : []) }
    }

    mutating func append(_ waiting: WaitingChannel, route: Entry.Route) {
        append(
            channel: waiting.channel, token: waiting.token ?? [], registeredAt: waiting.registeredAt,
            attempt: waiting.attempts, route: route)
    }
}
