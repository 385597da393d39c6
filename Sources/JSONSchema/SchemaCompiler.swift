import StrictJSON

/// Reads schema objects into nodes; node 0 is the root. Definitions get nodes first, so they may refer to each other.
struct SchemaCompiler {
    private(set) var nodes: [SchemaNode] = []
    private var definitions: [String: Int] = [:]

    private static let annotations = [
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly",
        "writeOnly", "format",
    ]
    private static let supported = [
        "$ref", "$defs", "definitions", "type", "nullable", "properties", "required", "additionalProperties", "items",
        "minItems", "maxItems", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
        "minLength", "maxLength", "anyOf", "oneOf", "allOf",
    ]
    private static let unsupported = [
        "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "not", "if", "then", "else", "dependentSchemas",
        "dependentRequired", "dependencies", "prefixItems", "additionalItems", "unevaluatedItems",
        "unevaluatedProperties", "contains", "minContains", "maxContains", "uniqueItems", "patternProperties",
        "propertyNames", "minProperties", "maxProperties", "multipleOf", "pattern", "contentEncoding",
        "contentMediaType", "contentSchema",
    ]

    mutating func compile(root: JSONValue) throws(JSONError) {
        nodes = [SchemaNode()]
        var named: [(schema: JSONValue, node: Int)] = []
        if root.kind == .object {
            let object = try root.object()
            for section in ["$defs", "definitions"] {
                guard let value = object[section] else { continue }
                for (name, schema) in try value.object().members {
                    definitions["#/\(section)/\(name)"] = add(SchemaNode())
                    named.append((schema, nodes.count - 1))
                }
            }
        }
        nodes[0] = try node(root, isRoot: true)
        for (schema, index) in named { nodes[index] = try node(schema) }
        try refuseEndlessReferences(root)
    }

    private mutating func add(_ node: SchemaNode) -> Int {
        nodes.append(node)
        return nodes.count - 1
    }

    private mutating func child(_ value: JSONValue) throws(JSONError) -> Int { add(try node(value)) }

    private mutating func node(_ value: JSONValue, isRoot: Bool = false) throws(JSONError) -> SchemaNode {
        var node = SchemaNode()
        if value.kind == .bool {
            node.matchesSomething = try value.bool()
            return node
        }
        guard value.kind == .object else { throw value.mismatch("a schema: an object, true or false") }
        let object = try value.object()
        try keywords(object, isRoot: isRoot)
        try types(object, into: &node)
        try shape(object, into: &node)
        try bounds(object, into: &node)
        node.anyOf = try alternatives(object["anyOf"])
        node.oneOf = try alternatives(object["oneOf"])
        node.allOf = try alternatives(object["allOf"])
        if let reference = object["$ref"] { node.reference = try target(reference) }
        return node
    }

    private func keywords(_ object: JSONObject, isRoot: Bool) throws(JSONError) {
        for (key, value) in object.members where Self.unsupported.contains(key) {
            throw value.keyError("is not supported; supported are \(Self.supported.joined(separator: ", "))")
        }
        try object.refuseUnknownKeys(known: Self.supported + Self.annotations)
        guard !isRoot else { return }
        for key in ["$defs", "definitions"] {
            if let value = object[key] { throw value.keyError("is supported at the top of the schema only") }
        }
    }

    private func types(_ object: JSONObject, into node: inout SchemaNode) throws(JSONError) {
        if let type = object["type"] {
            let values = type.kind == .array ? try type.array() : [type]
            guard !values.isEmpty else { throw type.error("must name at least one type") }
            node.types = try values.map { (value) throws(JSONError) -> SchemaNode.TypeName in
                let text = try value.string()
                if let name = SchemaNode.TypeName(rawValue: text) { return name }
                let known = SchemaNode.TypeName.allCases.map(\.rawValue)
                throw value.error("must be one of \(known.joined(separator: ", "))\(known.suggestion(for: text))")
            }
        }
        if let nullable = object["nullable"] {
            guard node.types != nil else { throw nullable.keyError("needs a `type` beside it") }
            if try nullable.bool() { node.types?.append(.null) }
        }
        if let values = object["enum"] {
            let list = try values.array()
            guard !list.isEmpty else { throw values.error("must hold at least one value") }
            node.values = list
        }
        if let value = object["const"] { node.values = [value] }
    }

    private mutating func shape(_ object: JSONObject, into node: inout SchemaNode) throws(JSONError) {
        if let properties = object["properties"] {
            for (key, schema) in try properties.object().members { node.properties.append((key, try child(schema))) }
        }
        if let required = object["required"] {
            for value in try required.array() { node.required.append(try value.string()) }
        }
        if let additional = object["additionalProperties"] {
            if additional.kind == .bool {
                node.additional = try additional.bool() ? .allowed : .refused
            } else {
                node.additional = .schema(try child(additional))
            }
        }
        if let items = object["items"] {
            guard items.kind != .array else { throw items.error("must be one schema, not a list") }
            node.items = try child(items)
        }
    }

    private func bounds(_ object: JSONObject, into node: inout SchemaNode) throws(JSONError) {
        node.itemCount = try range(object["minItems"], object["maxItems"])
        node.length = try range(object["minLength"], object["maxLength"])
        func number(_ key: String) throws(JSONError) -> Double? { try object[key]?.double() }
        node.minimum = try number("minimum")
        node.maximum = try number("maximum")
        node.exclusiveMinimum = try number("exclusiveMinimum")
        node.exclusiveMaximum = try number("exclusiveMaximum")
    }

    private func range(_ least: JSONValue?, _ most: JSONValue?) throws(JSONError) -> ClosedRange<Int>? {
        func count(_ value: JSONValue?) throws(JSONError) -> Int? {
            guard let value else { return nil }
            if let count = Int(exactly: try value.integer()), count >= 0 { return count }
            throw value.error("must be a whole number of at least 0")
        }
        let (lower, upper) = (try count(least), try count(most))
        if lower == nil, upper == nil { return nil }
        if let lower, let upper, let most, lower > upper { throw most.error("must not be below the minimum") }
        return (lower ?? 0)...(upper ?? Int.max)
    }

    private mutating func alternatives(_ value: JSONValue?) throws(JSONError) -> [Int] {
        guard let value else { return [] }
        let list = try value.array()
        guard !list.isEmpty else { throw value.error("must hold at least one schema") }
        return try list.map { (schema) throws(JSONError) in try child(schema) }
    }

    private func target(_ value: JSONValue) throws(JSONError) -> Int {
        let text = try value.string()
        if text == "#" { return 0 }
        // RFC 6901 writes a slash as ~1 and a tilde as ~0.
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map {
            $0.replacing("~1", with: "/").replacing("~0", with: "~")
        }
        if parts.count == 3, let index = definitions["#/\(parts[1])/\(parts[2])"], parts[0] == "#" { return index }
        let nearest = definitions.keys.sorted().suggestion(for: text)
        throw value.error("must be # or a definition of this schema, #/$defs/… or #/definitions/…\(nearest)")
    }

    /// Refuses a schema that leads back to itself without going deeper into the value: its check would never end.
    private func refuseEndlessReferences(_ root: JSONValue) throws(JSONError) {
        enum Mark { case open, done }
        var marks: [Int: Mark] = [:]
        func isEndless(_ node: Int) -> Bool {
            if let mark = marks[node] { return mark == .open }
            marks[node] = .open
            defer { marks[node] = .done }
            return nodes[node].inPlace.contains(where: isEndless)
        }
        guard !nodes.indices.contains(where: isEndless) else {
            throw root.error("has a $ref that leads back to itself without end")
        }
    }
}
