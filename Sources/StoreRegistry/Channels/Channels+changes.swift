public import LiveActivity
import Redis
public import StoreGround

extension Channels {
    /// Changes many channels, each in its own way. The changes of one channel are made in their order. To repeat the
    /// call does no harm.
    /// - Returns: the positions of changes that were not made, because the channel would have too many tags.
    public func apply(_ app: AppKey, _ changes: [ChannelChange]) async throws(StoreError) -> [Int] {
        try await withRoom(app, changes.map(\.channel), changes.flatMap(\.operations)) { () async throws(StoreError) in
            try await applyAdmitted(app, changes)
        }
    }

    private func applyAdmitted(_ app: AppKey, _ changes: [ChannelChange]) async throws(StoreError) -> [Int] {
        var refused: [Int] = []
        for turn in Self.turns(changes.map(\.channel)) {
            var batch: [(position: Int, work: Work)] = []
            var arguments = 0
            for position in turn {
                let change = changes[position]
                // Too long for one script.
                if ChannelOperation.parts(change.operations, most: Self.tagsOfScript).count > 1 {
                    if try await !applyLong(app, change) { refused.append(position) }
                    continue
                }
                let work = Work(channel: change.channel, operations: change.operations.flatMap(\.arguments))
                if batch.count == Self.batch || arguments + work.operations.count > Self.batchArguments {
                    refused += try await applyBatch(app, batch)
                    (batch, arguments) = ([], 0)
                }
                batch.append((position, work))
                arguments += work.operations.count
            }
            refused += try await applyBatch(app, batch)
        }
        return refused.sorted()
    }

    /// - Returns: false if the channel would have too many tags.
    private func applyLong(_ app: AppKey, _ change: ChannelChange) async throws(StoreError) -> Bool {
        do throws(StoreError) {
            try await applyAdmitted(app, [change.channel], change.operations)
            return true
        } catch {
            guard case .tooManyTags = error else { throw error }
            return false
        }
    }

    private func applyBatch(_ app: AppKey, _ batch: [(position: Int, work: Work)]) async throws(StoreError) -> [Int] {
        guard !batch.isEmpty else { return [] }
        var full: [ChannelID] = []
        try await change(app, batch.map(\.work), &full, "most")
        let refused = Set(full)
        return batch.filter { refused.contains($0.work.channel) }.map(\.position)
    }

    /// Groups the positions of changes, so that no group has a channel twice. A channel's changes keep their order from
    /// group to group. Two changes of one channel in one round trip would look like the changes of two writers.
    static func turns(_ channels: [ChannelID]) -> [[Int]] {
        var turns: [[Int]] = []
        var next: [ChannelID: Int] = [:]
        for (position, channel) in channels.enumerated() {
            let turn = next[channel, default: 0]
            if turn == turns.count { turns.append([]) }
            turns[turn].append(position)
            next[channel] = turn + 1
        }
        return turns
    }
}
