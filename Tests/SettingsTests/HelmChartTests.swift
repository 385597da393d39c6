import TestSupport
import Testing

@testable import Settings

/// The Helm chart names settings that this program knows. `bin/chart` checks the rest of it.
@Suite("Helm chart") struct HelmChartTests {
    @Test func `the chart takes each setting that is no secret, once, and no other`() throws {
        let templates = try ["_helpers.tpl", "gateway.yaml", "worker.yaml"]
            .map { try Repository.text("config/chart/lamplighter/templates/\($0)") }.joined()
        // Other values of the chart set these.
        let set = Set(templates.matches(of: #/- name: (LAMPLIGHTER_[A-Z_]+)/#).map { String($0.1) })
        let known = SettingKey.all.filter { !$0.isSecret && !set.contains($0.environmentName) }.map(\.path)
        let schema = try Repository.text("config/chart/lamplighter/values.schema.json")
        let list = try #require(schema.firstMatch(of: #/"propertyNames": \{\s*"enum": \[([^\]]*)\]/#)).1
        let taken = list.matches(of: #/"([^"]+)"/#).map { String($0.1) }
        let add = Set(known).subtracting(taken).sorted()
        let remove = Set(taken).subtracting(known).sorted()
        #expect(add + remove == [], "settings of values.schema.json: add \(add), remove \(remove)")
        #expect(taken.count == Set(taken).count)
    }

    @Test func `the chart has the number of the stored format`() throws {
        let source = try Repository.text("Sources/Store/StoredFormat.swift")
        let number = try #require(source.firstMatch(of: #/current = (\d+)/#)).1
        let chart = try Repository.text("config/chart/lamplighter/Chart.yaml")
        #expect(chart.contains("lamplighter/stored-format: \"\(number)\""))
    }
}
