import Redis
import Testing

@testable import Store
@testable import StoreGround

/// Tests the sources of the scripts.
@Suite struct LuaTests {
    /// The head of a script names keys and arguments. Only a list of further arguments is read by position.
    @Test func `a script uses each key and argument by its name`() {
        let fragments = Set(LuaFragment.all.values.flatMap { Self.names(in: $0.source) })
        for script in Lua.all {
            let body = Self.body(of: script)
            let names = script.keys + script.arguments
            #expect(!script.keys.isEmpty && Set(names).count == names.count, "\(script.name)")
            let used = Set(body.matches(of: /'[^']*'|\.?[A-Za-z]\w*/).map { String($0.output) })
            #expect(Set(names).subtracting(used).isEmpty, "\(script.name)")
            #expect(used.contains("rest") == script.takesRest, "\(script.name)")
            #expect(!body.contains("KEYS") && !body.contains(/ARGV\[\d/), "\(script.name)")
            // A name must hide no function of a fragment, and no local of the body may hide a name.
            let hidden = fragments.intersection(names)
            let locals = body.matches(of: /local (?:function )?([\w, ]+)/)
                .flatMap { $0.output.1.split(separator: ", ").map { $0.trimmingPrefix(" ") } }
            #expect(hidden.isEmpty && locals.allSatisfy { !names.contains(String($0)) }, "\(script.name): \(hidden)")
        }
    }

    /// Parts of a long script are files of their own, and see the script's names. No other script uses them.
    @Test func `a part belongs to one script`() {
        let parts = LuaFragment.all.values.filter { $0.source.hasPrefix("-- Part of ") }
        #expect(parts.count == 4)
        for part in parts {
            let users = Lua.all.filter { $0.source.contains(part.source) }.map(\.name)
            #expect(users.count == 1 && part.source.hasPrefix("-- Part of \(users[0]): "), "\(part.name)")
        }
    }

    /// A script's own code with its parts, behind the locals that its head makes.
    private static func body(of script: RedisScript) -> String {
        let fragments = LuaFragment.all.values.filter { !$0.source.hasPrefix("-- Part of ") }
        let lines = fragments.reduce(script.source) { $0.replacing($1.source, with: "") }
            .split(separator: "\n").drop { !$0.hasSuffix(" = unpack(KEYS)") }.dropFirst()
        let body = lines.drop { $0.contains(" = cmsgpack.unpack(ARGV[1])") || $0.hasPrefix("local rest =") }
        return withoutComments(body.joined(separator: "\n"))
    }

    /// Redis refuses a script with more than 200 locals, and fragments bring most of them.
    @Test func `each script has room for five more locals`() async throws {
        let fixture = try await PushFixture.start()
        let redis = fixture.store.redis
        let more = (0..<5).map { "local more\($0) = 0\n" }.joined()
        for script in Lua.all {
            await #expect(throws: Never.self, "\(script.name)") {
                try await redis.run(RedisCommand("SCRIPT", ["LOAD", .string(more + script.source)]))
            }
        }
    }

    @Test func `each script has a name of its own`() {
        #expect(Set(Lua.all.map(\.name)).count == Lua.all.count)
    }

    /// A name of a missing fragment would be an error only in the branch that uses it.
    @Test func `a script contains each fragment that it calls, before the call`() {
        let names = Set(LuaFragment.all.values.flatMap { Self.names(in: $0.source) })
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

    /// Behind a line `-- uses …` in the body such a local would be the function of the fragment.
    @Test func `no local above a script's rules has the name of a fragment's function`() {
        let fragments = Set(LuaFragment.all.values.flatMap { Self.names(in: $0.source) })
        // The first part is the head.
        let parts = Lua.all.map { ($0, Self.withoutFragments($0.source).split(separator: /-- uses [^\n]*\n/)) }
        let scripts = parts.filter { $0.1.count > 2 }
        #expect(scripts.count == 4)
        for (script, parts) in scripts {
            let own = Set(parts.dropLast().flatMap { Self.names(in: String($0)) })
            #expect(own.intersection(fragments).isEmpty, "\(script.name)")
        }
    }

    @Test func `no number of Swift is written into a script`() {
        for number in ["28800000", "29700000", "604800000", "3600000", "120000"] {
            for script in Lua.all {
                let own = [ScriptNumbers.text, KeptFlags.text].reduce(Self.withoutComments(script.source)) {
                    $0.replacing(Self.withoutComments($1), with: "")
                }
                #expect(!own.contains(number), "\(script.name) has \(number)")
            }
        }
    }

    private static func withoutFragments(_ source: String) -> String {
        LuaFragment.all.values.reduce(source) { $0.replacing($1.source, with: "") }
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
