import LiveActivity
import Store
import Testing

@testable import HTTPAPI

@Suite struct ActionSumsTests {
    private let app = try! AppKey("shop")
    private let start = ContinuousClock.now

    private func action(_ push: String, name: String = "a", by credential: String = "master") -> Action {
        Action(
            "publish", credential: credential, address: "::1", operation: push, subjects: [.name: name, .push: push])
    }

    @Test func `the first is told at once, the others once a minute, and silence ends the sum`() {
        var sums = ActionSums()
        #expect(sums.take(action("1"), of: app, at: start) == action("1"))
        #expect(sums.take(action("2"), of: app, at: start) == nil)
        #expect(sums.take(action("3", name: "b"), of: app, at: start) == nil)
        #expect(sums.take(action("9", by: "feed"), of: app, at: start) == action("9", by: "feed"))
        #expect(sums.over(at: start + .seconds(59)).isEmpty)
        let told = sums.over(at: start + .seconds(60))
        #expect(told.map(\.action.count) == [2])
        #expect(told[0].action.subjects == [.push: "2", .lastPush: "3"], "the names differ")
        #expect(sums.over(at: start + .seconds(120)).isEmpty)
        #expect(sums.take(action("4"), of: app, at: start + .seconds(121)) == action("4"))
    }

    @Test func `calls that failed have a sum of their own`() {
        var sums = ActionSums()
        for number in 0..<3 { _ = sums.take(action("\(number)"), of: app, at: start) }
        var failed = action("9")
        (failed.failed, failed.count) = (503, 0)
        #expect(sums.take(failed, of: app, at: start) == failed)
        #expect(sums.over(at: start + .seconds(60)).map(\.action.failed) == [nil])
    }

    @Test func `people who share an address have sums of their own`() {
        var sums = ActionSums()
        for number in 0..<3 {
            for who in ["anna", "otto"] {
                var action = action("\(number)", by: "oidc")
                action.who = who
                _ = sums.take(action, of: app, at: start)
            }
        }
        let told = sums.over(at: start + .seconds(60))
        #expect(Set(told.map(\.action.who)) == ["anna", "otto"] && told.map(\.action.count) == [2, 2])
    }

    @Test func `every call that changes something with a secret has a word, or is a registration`() {
        let silent = Endpoint.all.filter { $0.method != "GET" && $0.access == .master && $0.action == nil }
        #expect(silent.map(\.pattern) == ["/api/push/validate"])
        #expect(Set(Endpoint.all.compactMap(\.action)) == Set(ActionKind.all.filter(\.isOfCall)))
        #expect(Endpoint.all.allSatisfy { $0.action == nil || $0.access == .master })
    }
}
