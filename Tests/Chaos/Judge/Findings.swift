import Synchronization

final class Findings: Sendable {
    private static let kept = 200

    private struct Found {
        var count = 0
        var texts: [String] = []
    }
    private let found = Mutex<[Finding: Found]>([:])

    func note(_ finding: Finding, _ text: @autoclosure () -> String) {
        found.withLock { found in
            found[finding, default: Found()].count += 1
            if found[finding, default: Found()].texts.count < Self.kept { found[finding]?.texts.append(text()) }
        }
    }

    func count(_ finding: Finding) -> Int { found.withLock { $0[finding]?.count ?? 0 } }
    func texts(_ finding: Finding) -> [String] { found.withLock { $0[finding]?.texts ?? [] } }
    var isEmpty: Bool { found.withLock { $0.isEmpty } }
}
