import LiveActivity
import Store

extension Sweep {
    /// Sweeps the catch-up: channels that registered a token while the shards were swept, in order of arrival, until
    /// none is left. Its pages are numbered. A repeated settlement is recognised by its number, so no page is counted
    /// twice.
    func catchUp() async {
        var number: UInt64 = 0
        while mayGoOn {
            let before = number
            await withDiscardingTaskGroup { group in
                let open = AsyncSemaphore(sweeper.options.openPages)
                var order: Int64 = 0
                while mayGoOn {
                    guard let (page, last) = await arrivals(after: order) else { return lose() }
                    guard let last else { return }
                    order = last
                    await open.take()
                    guard mayGoOn else { return }
                    let range = Self.page(number)
                    number += 1
                    group.addTask {
                        await send(page, range)
                        open.give()
                    }
                }
            }
            // No channel is left and no page is in flight. This settlement ends the sweep, unless another channel has
            // arrived.
            if mayGoOn, number == before {
                await settle(Settlement(range: Self.page(number)))
                number += 1
            }
        }
    }

    private static func page(_ number: UInt64) -> Range<ScanPosition> {
        ScanPosition(number)..<ScanPosition(number + 1)
    }

    /// The next channels and the order number of the last one; no number when there are none. Nil when Redis did not
    /// answer.
    private func arrivals(after order: Int64) async -> (Page, last: Int64?)? {
        await held.whileLive(log) { () async throws(StoreError) in
            while true {
                let arrivals = try await sweeper.store.sweeps.arrivals(
                    lease.app, lease.name, after: order, limit: sweeper.options.pageSize)
                guard let last = arrivals.last else { return (Page(), last: nil) }
                let (tokens, signs) = try await sweeper.store.registry.lookup(
                    lease.app, lease.name, arrivals.map(\.channel))
                guard var page = try await sorted(tokens, signs, setAside: nil) else { continue }
                page.arrivals = arrivals
                return (page, last: last.order)
            }
        }
    }
}
