import LiveActivity
import Store

extension Sweep {
    /// The catch-up: channels that registered a token while the shards were swept, in the order of their arrival, until none
    /// is left. Its pages are numbered, so that one that was settled and got no answer is not counted twice.
    func catchUp() async {
        var number: UInt64 = 0
        while mayGoOn {
            let before = number
            await withDiscardingTaskGroup { group in
                let open = Slots(sweeper.options.openPages)
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
            // Nobody is left, and no page in flight: this ends the sweep, unless somebody arrives before it.
            if mayGoOn, number == before {
                await settle(Settlement(range: Self.page(number)))
                number += 1
            }
        }
    }

    private static func page(_ number: UInt64) -> Range<ScanPosition> {
        ScanPosition(number)..<ScanPosition(number + 1)
    }

    /// The next channels and the order of the last one; no order when there are none. Nil when Redis did not answer.
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
