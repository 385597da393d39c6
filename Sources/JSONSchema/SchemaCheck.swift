import StrictJSON

/// Compares one value with its schema, and throws at the first place where they differ.
struct SchemaCheck {
    let nodes: [SchemaNode]
    /// The work that is left. Nested alternatives multiply, and lists of `enum` may be long, so a check may give up.
    private var steps = 20_000
    private var isExhausted: Bool { steps <= 0 }
    private static let tooLong = "takes too long to compare with its schema"
    init(nodes: [SchemaNode]) { self.nodes = nodes }

    mutating func check(_ value: JSONValue, against index: Int) throws(JSONError) {
        steps -= 1
        guard !isExhausted else { throw value.error(Self.tooLong) }
        let node = nodes[index]
        guard node.matchesSomething else { throw value.error("must not be there") }
        if let types = node.types { try type(value, types) }
        if let values = node.values { try oneOf(value, values) }
        switch value.kind {
        case .object where !node.properties.isEmpty || !node.required.isEmpty || !node.allowsAnyMember:
            try object(value, node)
        case .array: try array(value, node)
        case .string: try string(value, node)
        case .number: try number(value, node)
        default: break
        }
        if let reference = node.reference { try check(value, against: reference) }
        for schema in node.allOf { try check(value, against: schema) }
        if !node.anyOf.isEmpty { try alternatives(value, node.anyOf, most: node.anyOf.count) }
        if !node.oneOf.isEmpty { try alternatives(value, node.oneOf, most: 1) }
    }

    private func type(_ value: JSONValue, _ types: [SchemaNode.TypeName]) throws(JSONError) {
        guard !types.contains(where: { $0.matches(value) }) else { return }
        let wanted = types.map(\.words).joined(separator: " or ")
        if value.kind == .number, types.contains(.integer) { throw value.error("must be \(wanted), without fraction") }
        throw value.mismatch(wanted)
    }

    private mutating func oneOf(_ value: JSONValue, _ values: [JSONValue]) throws(JSONError) {
        for other in values {
            if other.means(value, within: &steps) { return }
            guard !isExhausted else { throw value.error(Self.tooLong) }
        }
        let shown = values.prefix(10).map { String(decoding: $0.raw.prefix(64), as: UTF8.self) }
        let more = values.count > 10 ? ", …" : ""
        throw value.error("must be \(values.count == 1 ? "" : "one of ")\(shown.joined(separator: ", "))\(more)")
    }

    private mutating func object(_ value: JSONValue, _ node: SchemaNode) throws(JSONError) {
        let object = try value.object()
        for key in node.required where object[key] == nil { throw object.missing(key) }
        // Each member is searched for among the properties.
        steps -= object.members.count * (node.properties.count + node.required.count) / 64
        for (key, member) in object.members {
            let property = node.properties.first { $0.key.utf8.elementsEqual(key.utf8) }?.schema
            switch (property, node.additional) {
            case (let schema?, _), (nil, .schema(let schema)): try check(member, against: schema)
            case (nil, .allowed): break
            case (nil, .refused):
                throw member.keyError("is not known there\(node.properties.map(\.key).suggestion(for: key))")
            }
        }
    }

    private mutating func array(_ value: JSONValue, _ node: SchemaNode) throws(JSONError) {
        guard node.items != nil || node.itemCount != nil else { return }
        let items = try value.array()
        if let count = node.itemCount, !count.contains(items.count) {
            throw value.error("must have \(count.words) items, not \(items.count)")
        }
        guard let schema = node.items else { return }
        for item in items { try check(item, against: schema) }
    }

    private func string(_ value: JSONValue, _ node: SchemaNode) throws(JSONError) {
        guard let length = node.length else { return }
        let count = try value.string().unicodeScalars.count
        guard length.contains(count) else { throw value.error("must have \(length.words) characters, not \(count)") }
    }

    private func number(_ value: JSONValue, _ node: SchemaNode) throws(JSONError) {
        let number = try value.double()
        if let minimum = node.minimum, number < minimum { throw value.error("must be at least \(minimum.short)") }
        if let maximum = node.maximum, number > maximum { throw value.error("must be at most \(maximum.short)") }
        if let bound = node.exclusiveMinimum, number <= bound { throw value.error("must be above \(bound.short)") }
        if let bound = node.exclusiveMaximum, number >= bound { throw value.error("must be below \(bound.short)") }
    }

    /// Tries alternatives. If none matches, it reports the error of the alternative that got furthest, which is mostly
    /// the intended one.
    private mutating func alternatives(_ value: JSONValue, _ schemas: [Int], most: Int) throws(JSONError) {
        var matches = 0
        var deepest: JSONError?
        // "or null" is not an alternative that helps the reader.
        let named = schemas.count { nodes[$0].types.map { $0 != [.null] } ?? true }
        for schema in schemas {
            do throws(JSONError) {
                try check(value, against: schema)
                matches += 1
                if most > 1 { return }
            } catch {
                if isExhausted { throw error }
                if named > 0, let types = nodes[schema].types, types == [.null] { continue }
                if (deepest?.path.utf8.count ?? -1) < error.path.utf8.count { deepest = error }
            }
        }
        if matches == 0, let deepest {
            guard deepest.path == value.path, named > 1 else { throw deepest }
            throw value.error("matches none of its schema's \(named) alternatives; the first: \(deepest.message)")
        }
        if matches > most { throw value.error("matches \(matches) of its schema's alternatives, and must match one") }
    }
}

extension SchemaNode.TypeName {
    fileprivate func matches(_ value: JSONValue) -> Bool {
        switch (self, value.kind) {
        case (.object, .object), (.array, .array), (.string, .string), (.number, .number), (.boolean, .bool),
            (.null, .null):
            true
        case (.integer, .number): (try? value.double()).map { $0.rounded() == $0 } ?? false
        default: false
        }
    }

    fileprivate var words: String {
        switch self {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .integer: "a whole number"
        case .boolean: "true or false"
        case .null: "null"
        }
    }
}

extension ClosedRange<Int> {
    fileprivate var words: String {
        if lowerBound == upperBound { return "\(lowerBound)" }
        if upperBound == .max { return "at least \(lowerBound)" }
        return lowerBound == 0 ? "at most \(upperBound)" : "\(lowerBound) to \(upperBound)"
    }
}

extension Double {
    /// Writes `5` instead of `5.0`.
    fileprivate var short: String { Int64(exactly: self).map(String.init) ?? "\(self)" }
}
