import StrictJSON

extension JSONValue {
    /// JSON Schema's equality: numbers by value (whole ones exactly), objects in any order. Repeated keys never match.
    /// - Parameter steps: each pair of compared values takes one. When no step is left, nothing is equal.
    func means(_ other: JSONValue, within steps: inout Int) -> Bool {
        // Long values take one more step for each 64 bytes.
        steps -= 1 + (raw.count + other.raw.count) / 64
        guard steps > 0, kind == other.kind else { return false }
        switch kind {
        case .null: return true
        case .bool: return raw.elementsEqual(other.raw)
        case .number:
            if let one = try? integer(), let two = try? other.integer() { return one == two }
            guard let one = try? double(), let two = try? other.double() else { return false }
            return one == two
        case .string:
            guard let one = try? string(), let two = try? other.string() else { return false }
            return one.utf8.elementsEqual(two.utf8)
        case .array:
            guard let one = try? array(), let two = try? other.array(), one.count == two.count else { return false }
            return zip(one, two).allSatisfy { $0.means($1, within: &steps) }
        case .object:
            guard let one = try? object(), let two = try? other.object(), one.members.count == two.members.count else {
                return false
            }
            // Each key is searched for among the other object's keys.
            steps -= one.members.count * one.members.count / 64
            guard steps > 0 else { return false }
            return one.members.allSatisfy { key, value in two[key].map { value.means($0, within: &steps) } ?? false }
        }
    }
}
