/// Lua that scripts share, because Redis 6 has no function libraries. Scripts and the heads of fragments name the
/// fragments that they use, in lines `-- uses NAME, …`. A fragment that begins with `-- Part of SCRIPT` is no shared
/// code, but a piece of that long script: it sees the script's names.
struct LuaFragment: Hashable {
    /// The `NAME` of `shared-NAME.lua`.
    let name: String
    let source: String

    /// The fragments of `Lua/`, and the numbers that scripts share with Swift.
    static let all: [String: LuaFragment] = {
        var sources = ["constants": ScriptNumbers.text, "kept-numbers": KeptFlags.text]
        for file in files where file.name.hasPrefix("shared-") {
            sources[String(file.name.dropFirst("shared-".count))] = file.text
        }
        return Dictionary(
            uniqueKeysWithValues: sources.map { ($0.key, LuaFragment(name: $0.key, source: $0.value)) })
    }()

    /// The names of a line `-- uses NAME, …`. Nil: the line is another one.
    static func used(_ line: Substring) -> [Substring]? {
        guard line.hasPrefix("-- uses ") else { return nil }
        return line.dropFirst("-- uses ".count).split(separator: ", ")
    }

    /// Fragments with all that they use, each behind the fragments that it uses itself.
    static func all(_ names: [Substring]) -> [LuaFragment] {
        var found: [LuaFragment] = []
        for name in names {
            guard let fragment = all[String(name)] else { preconditionFailure("there is no fragment \(name)") }
            let head = fragment.source.split(separator: "\n").prefix { $0.hasPrefix("--") }
            for other in head.compactMap(used).flatMap(all) + [fragment] where !found.contains(other) {
                found.append(other)
            }
        }
        return found
    }

    /// The names, without `.lua`, and texts of the files in `Lua/`.
    static let files: [(name: String, text: String)] = PackageResources.files.map { name, bytes in
        (String(name.dropLast(".lua".count)), KeptFlags.written(into: String(decoding: bytes, as: UTF8.self)))
    }
}
