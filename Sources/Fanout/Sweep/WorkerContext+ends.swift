import LiveActivity
import Store

extension WorkerContext {
    /// The entries of a page that are in the audience of one of their ends: what is from before it is not for their
    /// cards. An end that was stopped before anybody had it closes nothing.
    /// - Parameter ends: by index in the page, see `SendBlocks.endsForSome`
    func closed(
        _ page: TokenPage, _ ends: [Int: [PushID]], _ app: AppKey, _ name: ActivityName
    ) async throws(StoreError) -> Set<Int> {
        if ends.isEmpty { return [] }
        let records = try await store.sweeps.records(app, name, Set(ends.values.flatMap(\.self)))
        var closed: Set<[UInt8]> = []
        for (id, record) in records where record.stands {
            let newer = page.filtered { ends[$0]?.contains(id) == true }
            let audience = try await store.channels.filter(app, newer, record.audience)
            closed.formUnion((0..<audience.count).map { Array(audience.channel($0)) })
        }
        return Set(ends.keys.filter { closed.contains(Array(page.channel($0))) })
    }
}

extension PushRecord {
    /// The entries of a page that the push is for: those on its platforms, and for an automatic end those whose cards
    /// are old enough.
    func targets(of page: TokenPage) -> TokenPage {
        if !isAutomatic, page.platforms.allSatisfy(isFor) { return page }
        return page.filtered {
            isFor(page.entries[$0].platform) && isFor(startedAt: page.entries[$0].startedAt)
        }
    }
}
