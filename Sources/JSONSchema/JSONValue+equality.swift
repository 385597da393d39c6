import StrictJSON

extension JSONValue {
    /// The number as a double, nil if it is none or too large for one.
    var double: Double? {
        guard kind == .number, let number = Double(String(decoding: raw, as: UTF8.self)), number.isFinite else {
            return nil
        }
        return number
    }

    /// Equality as JSON Schema has it: numbers by value (whole ones exactly), objects without order. An object with a key
    /// twice equals nothing.
    func means(_ other: JSONValue) -> Bool {
        guard kind == other.kind else { return false }
        switch kind {
        case .null: return true
        case .bool: return raw.elementsEqual(other.raw)
        case .number:
            if let one = try? integer(), let two = try? other.integer() { return one == two }
            return double != nil && double == other.double
        case .string:
            guard let one = try? string(), let two = try? other.string() else { return false }
            return one.utf8.elementsEqual(two.utf8)
        case .array:
            guard let one = try? array(), let two = try? other.array(), one.count == two.count else { return false }
            return zip(one, two).allSatisfy { $0.means($1) }
        case .object:
            guard let one = try? object(), let two = try? other.object(), one.members.count == two.members.count else {
                return false
            }
            return one.members.allSatisfy { key, value in two[key].map { value.means($0) } ?? false }
        }
    }
}
