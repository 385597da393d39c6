import Redis
import Testing

@testable import Store

/// Tests the sources of the scripts, without Redis.
@Suite struct LuaTests {
    @Test func `a script uses and describes exactly its keys`() {
        for script in Lua.all {
            let lines = script.source.split(separator: "\n")
            let used = lines.filter { !$0.hasPrefix("--") }.joined(separator: "\n")
                .matches(of: /KEYS\[(\d+)\]/).compactMap { Int($0.output.1) }
            #expect(Set(used) == Set(1...script.keyCount), "\(script.name)")
            let described = lines.compactMap { $0.prefixMatch(of: /-- KEYS\[(\d+)\]/).flatMap { Int($0.output.1) } }
            #expect(described == Array(1...script.keyCount), "\(script.name)")
            #expect(!script.source.contains("#KEYS"), "\(script.name): its number of keys may not vary")
        }
    }

    @Test func `each script has a name of its own`() {
        #expect(Set(Lua.all.map(\.name)).count == Lua.all.count)
    }

    /// A name of a missing fragment would be an error only in the branch that uses it.
    @Test func `a script contains each fragment that it calls, before the call`() {
        let names = Set(LuaFragment.allCases.flatMap { Self.names(in: $0.source) })
        for script in Lua.all {
            var known: Set<String> = []
            for line in Self.withoutComments(script.source).split(separator: "\n") {
                let words = Set(line.matches(of: /'[^']*'|[.:]?\w+/).map { String($0.output) })
                if line.contains("local ") || line.contains("function") { known.formUnion(words) }
                let missing = words.intersection(names).subtracting(known)
                #expect(missing.isEmpty, "\(script.name): \(missing)")
            }
        }
    }

    @Test func `no number of Swift is written into a script`() {
        for number in ["28800000", "29700000", "604800000", "3600000", "120000"] {
            for script in Lua.all {
                let own = Self.withoutComments(script.source).replacing(
                    Self.withoutComments(LuaFragment.constants.source), with: "")
                #expect(!own.contains(number), "\(script.name) has \(number)")
            }
        }
    }

    private static func withoutComments(_ source: String) -> String {
        source.replacing(/--[^\n]*/, with: "")
    }

    /// The functions and constants of a fragment.
    private static func names(in fragment: String) -> [String] {
        fragment.matches(of: /(?m)^local (?:function (\w+)|([\w, ]+) =)/).flatMap { match in
            match.output.1.map { [String($0)] }
                ?? (match.output.2 ?? "").split(separator: ", ").map { String($0) }
        }
    }
}
