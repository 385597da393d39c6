import Redis
import Testing

@testable import Store

/// Tests the sources of the scripts, without Redis.
@Suite struct LuaTests {
    @Test(arguments: Lua.all)
    func `a script uses and describes exactly its keys`(_ script: RedisScript) {
        let lines = script.source.split(separator: "\n")
        let used = lines.filter { !$0.hasPrefix("--") }.joined(separator: "\n")
            .matches(of: /KEYS\[(\d+)\]/).compactMap { Int($0.output.1) }
        #expect(Set(used) == Set(1...script.keyCount))
        let described = lines.compactMap { $0.prefixMatch(of: /-- KEYS\[(\d+)\]/).flatMap { Int($0.output.1) } }
        #expect(described == Array(1...script.keyCount))
        #expect(!script.source.contains("#KEYS"), "no script takes a varying number of keys")
    }

    @Test func `each script has a name of its own`() {
        #expect(Set(Lua.all.map(\.name)).count == Lua.all.count)
    }
}
