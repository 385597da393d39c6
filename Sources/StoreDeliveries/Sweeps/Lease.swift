public import LiveActivity
public import StoreGround

/// A worker's exclusive right to a part of a push, or to a name's retries or broadcasts. Only the latest epoch settles.
public struct Lease: Sendable, Hashable {
    public let app: AppKey
    public let name: ActivityName
    public let push: PushID
    public let part: WorkItem.Part
    public let owner: String
    let epoch: Int

    /// The positions that the shard covers; empty if the part is no shard.
    public var bounds: Range<ScanPosition> {
        guard case .shard(let index, let count) = part else { return .start ..< .start }
        if part.isForOtherPlatforms { return .start ..< .end }
        let width = ScanPosition.end.rawValue / UInt64(count)
        return ScanPosition(UInt64(index) * width)..<ScanPosition(UInt64(index + 1) * width)
    }
}
