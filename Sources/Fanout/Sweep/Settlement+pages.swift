import LiveActivity
import Store

extension Settlement {
    /// A page that was read from the registry. Its tokens are counted as targets for the first time.
    /// - Parameters:
    ///   - now: when a delivered `end` removes its tokens, epoch ms
    ///   - staleBefore: start tokens that were last reported before this time (epoch ms) are stale
    init(firstAttempt page: TokenPage, _ sent: SentPage, now: Int64, staleBefore: Int64, range: Range<ScanPosition>) {
        self.init(range: range)
        let (report, record) = (sent.report, sent.record)
        count(page)
        if sent.isResent {
            for platform in page.platforms { countResent(page.count(on: platform), on: platform) }
        }
        errors = report.errors
        if record.isForSeveral {
            for (platform, reason) in report.refusals { refuse(record, on: platform, reason: reason) }
        } else {
            stop = report.stop
        }
        for exception in report.exceptions {
            switch exception.decision {
            case .failed:
                count(.failed, on: page.entries[exception.index].platform)
                if exception.isGivenUp { giveUp(page.channel(exception.index), reason: exception.reason) }
            case .expired: count(.expired, on: page.entries[exception.index].platform)
            case .dead(let removal): remove(removal)
            case .retry(let due, let attempts):
                retry(
                    page.channel(exception.index), due: due, attempts: attempts,
                    on: page.entries[exception.index].platform, wasSent: exception.wasSent,
                    mayBeDuplicate: exception.mayBeDuplicate)
            }
        }
        if record.event == .end {
            for index in report.deliveredIndices(page) {
                remove(
                    TokenRemoval(
                        channel: Array(page.channel(index)), token: page.keptToken(index), endedAt: now,
                        registeredAt: page.entries[index].registeredAt, platform: page.entries[index].platform))
            }
        } else {
            // Nearly all pages are on the first platform.
            let others = page.platforms == [.ios] ? [] : Array(report.deliveredIndices(page))
            let platforms = others.map { page.entries[$0].platform }.filter(\.countsApart)
            for platform in Set(platforms) { count(.delivered, platforms.count { $0 == platform }, on: platform) }
            count(.delivered, report.delivered - platforms.count)
        }
        if record.event == .start {
            stale = report.deliveredIndices(page).count { page.entries[$0].registeredAt < staleBefore }
        }
        if record.isDemoted { demoted = page.count }
        for request in sent.requests { leaveOpen(request) }
    }

    /// Tokens that are not sent to, all with the same outcome.
    /// - Parameter waiting: more of them, which wait for an older push
    init(unsent page: TokenPage, _ waiting: [Sweep.Page.Waiting], as field: SettledField, range: Range<ScanPosition>) {
        self.init(range: range)
        count(page)
        for one in waiting {
            count(targets: 1, on: one.platform)
            count(field, on: one.platform)
        }
        for platform in page.platforms { count(field, page.count(on: platform), on: platform) }
    }

    private mutating func count(_ page: TokenPage) {
        for platform in page.platforms { count(targets: page.count(on: platform), on: platform) }
    }
}

extension TokenPage {
    fileprivate func count(on platform: Platform) -> Int { entries.count { $0.platform == platform } }
}

extension RetrySettlement {
    /// A page of waiting channels, which all have the same first push in their retry queues.
    /// - Parameters: as for a page of a sweep
    init(_ waiting: [WaitingChannel], _ sent: SentPage, now: Int64, staleBefore: Int64) {
        self.init()
        let (report, event) = (sent.report, sent.record.event)
        let exceptions = Dictionary(uniqueKeysWithValues: report.exceptions.map { ($0.index, $0) })
        let open = Set(report.open)
        if sent.isResent { countResent(waiting, of: sent.record.id) }
        for (index, channel) in waiting.enumerated() where !open.contains(index) {
            guard let exception = exceptions[index] else {
                if event == .end, let token = channel.keptToken {
                    remove(
                        channel,
                        TokenRemoval(
                            channel: channel.channel, token: token, endedAt: now,
                            registeredAt: channel.registeredAt, platform: channel.platform))
                } else {
                    finish(channel, as: .delivered, isStale: event == .start && channel.registeredAt < staleBefore)
                }
                continue
            }
            switch exception.decision {
            case .failed: finish(channel, as: .failed, reason: exception.reason, isGivenUp: exception.isGivenUp)
            case .expired: finish(channel, as: .expired, reason: exception.reason)
            case .dead(let removal): remove(channel, removal)
            case .retry(let due, let attempts):
                postpone(
                    channel, due: due, attempts: attempts, reason: exception.reason, wasSent: exception.wasSent,
                    mayBeDuplicate: exception.mayBeDuplicate)
            }
        }
        if sent.record.isForSeveral {
            for (platform, reason) in report.refusals { refuse(sent.record, on: platform, reason: reason) }
        } else if let stop = report.stop {
            self.stop(sent.record.id, reason: stop)
        }
        for request in sent.requests { leaveOpen(request) }
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
            attempt: waiting.attempts, route: waiting.isWithoutCard ? route.union(.variant) : route,
            platform: waiting.platform)
    }
}
