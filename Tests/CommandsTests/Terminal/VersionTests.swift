import Foundation
import TestSupport
import Testing

@testable import Commands

/// The version is written down once. The changelog tells what is in it.
@Suite struct VersionTests {
    private static let changelog = (try? Repository.text("CHANGELOG.md")) ?? ""

    @Test func `the version is that of the changelog's newest section, or the next one while changes are unreleased`()
        throws
    {
        let headings = Self.changelog.matches(of: /(?m)^## \[([^\]]+)\]/).map { String($0.1) }
        let released = try #require(headings.first { $0 != "Unreleased" })
        let sections = Self.changelog.split(separator: "\n## ", omittingEmptySubsequences: false)
        let unreleased = sections.first { $0.hasPrefix("[Unreleased]") }?.split(separator: "\n").dropFirst() ?? []
        if unreleased.isEmpty {
            #expect(Release.version == released)
        } else {
            let next = try #require(Release.version.wholeMatch(of: /(\d+\.\d+\.\d+)-dev/)).1
            #expect(Self.numbers(next).lexicographicallyPrecedes(Self.numbers(released)) == false)
            #expect(Self.numbers(next) != Self.numbers(released))
        }
    }

    private static func numbers(_ version: some StringProtocol) -> [Int] {
        version.split(separator: ".").compactMap { Int($0) }
    }
}
