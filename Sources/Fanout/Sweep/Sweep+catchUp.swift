import LiveActivity
import Store

extension Sweep {
    /// Sweeps the catch-up: channels that registered a token while the shards were swept, in order of arrival, until
    /// none is left. Its pages are numbered: a repeated settlement is recognised by its number and counted once.
    func catchUp() async {
        var number: UInt64 = 0
        while delivery.mayGoOn {
            let before = number
            var order: Int64 = 0
            // A channel that registers again stays for the next round. In two pages at a time it could get the push
            // with its new token, and once more when it is tried again.
            var taken: Set<[UInt8]> = []
            let goesOn = await delivery.eachPage {
                guard let found = await arrivals(after: order, besides: taken), let last = found.last else {
                    return nil
                }
                order = last
                taken.formUnion(found.page.arrivals.map(\.channel))
                let range = Self.page(number)
                number += 1
                return { await sendAndSettle(found.page, range, $0) }
            }
            // No number may be left out, so the next claim begins with the first one that was not settled.
            guard goesOn else { return }
            // No channel is left and no page is in flight. This settlement ends the sweep, unless another channel came.
            if number == before {
                await settle(Settlement(range: Self.page(number)))
                number += 1
            }
        }
    }

    private static func page(_ number: UInt64) -> Range<ScanPosition> {
        ScanPosition(number)..<ScanPosition(number + 1)
    }

    /// The next channels and the last one's order number, which is nil without any. Nil when Redis did not answer.
    private func arrivals(after order: Int64, besides taken: Set<[UInt8]>) async -> (page: Page, last: Int64?)? {
        await delivery.ask { () async throws(StoreError) in
            var order = order
            while true {
                let found = try await store.sweeps.arrivals(
                    lease.app, lease.name, after: order, limit: delivery.pageSize)
                guard let last = found.last else { return (page: Page(), last: nil) }
                let (tokens, counts, arrivals) = try await store.tokens.lookup(
                    lease.app, lease.name, found.filter { !taken.contains($0.channel) })
                if arrivals.isEmpty {
                    order = last.order
                    continue
                }
                guard var page = try await makePage(tokens, counts, leavingOut: nil) else { continue }
                page.arrivals = arrivals
                return (page: page, last: last.order)
            }
        }
    }
}
