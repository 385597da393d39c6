import LiveActivity
import Store

extension Settlement {
    /// A page read from the registry: its tokens are counted for the first time.
    init(firstAttempt page: TokenPage, _ report: PageReport, range: Range<ScanPosition>) {
        self.init(range: range)
        targets = page.count
        adopt(report)
        count(.delivered, report.delivered)
        for (index, decision) in report.exceptions {
            switch decision {
            case .delivered: break
            case .failed: count(.failed)
            case .expired: count(.expired)
            case .dead(let prune): owe(prune)
            case .retry(let due, let attempts): retry(page.waiting(index, attempts: attempts), due: due)
            }
        }
    }

    /// A page of tokens that waited for their retry; they stay in the push's retry set until this is written.
    init(retried page: TokenPage, _ report: PageReport) {
        self.init()
        adopt(report)
        let exceptions = Dictionary(uniqueKeysWithValues: report.exceptions)
        for index in page.entries.indices {
            let before = page.waiting(index, attempts: Int(page.entries[index].attempt))
            switch exceptions[index] ?? .delivered {
            case .delivered: finish(before, as: .delivered)
            case .failed: finish(before, as: .failed)
            case .expired: finish(before, as: .expired)
            case .dead(let prune): owe(before, prune)
            case .retry(let due, let attempts): postpone(before, as: page.waiting(index, attempts: attempts), due: due)
            }
        }
    }

    /// A page that is not sent: every token of it ends the same way.
    init(unsent page: TokenPage, as field: SettledField, range: Range<ScanPosition>) {
        self.init(range: range)
        targets = page.count
        count(field, page.count)
    }

    private mutating func adopt(_ report: PageReport) {
        retries = report.retries
        duplicatesPossible = report.duplicatesPossible
        errors = report.errors
        stop = report.stop
    }
}

extension TokenPage {
    /// The entry as it lies in a push's retry set.
    func waiting(_ index: Int, attempts: Int) -> RetryToken {
        RetryToken(
            channel: Array(channel(index)), token: Array(token(index)), registeredAt: entries[index].registeredAt,
            attempts: attempts)
    }

    init(_ tokens: [RetryToken]) {
        self.init(reservingEntries: tokens.count, bytes: tokens.reduce(0) { $0 + $1.channel.count + $1.token.count })
        for token in tokens {
            append(
                channel: token.channel, token: token.token, registeredAt: token.registeredAt, attempt: token.attempts)
        }
    }
}

extension Settlement {
    /// A page of tokens that waited for their retry and are not sent any more.
    init(retried page: TokenPage, endingAs field: SettledField) {
        self.init()
        for index in page.entries.indices {
            finish(page.waiting(index, attempts: Int(page.entries[index].attempt)), as: field)
        }
    }
}
