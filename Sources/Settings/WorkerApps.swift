/// The placement of apps on workers (`worker.apps`): only some apps, or all but some.
public struct WorkerApps: Sendable, Hashable {
    public let keys: [String]
    public let leavesOut: Bool

    /// Reads `shop,news` or `-shop,-news`. Nil if it is neither.
    init?(_ text: String) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
        leavesOut = words.allSatisfy { $0.hasPrefix("-") }
        guard leavesOut || !words.contains(where: { $0.hasPrefix("-") }) else { return nil }
        keys = leavesOut ? words.map { String($0.dropFirst()) } : words
        guard !keys.contains("") else { return nil }
    }

    func serves(_ app: String) -> Bool { keys.contains(app) != leavesOut }
}
