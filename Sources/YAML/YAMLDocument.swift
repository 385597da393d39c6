internal import CYAML

/// Reads one YAML document with libyaml. Anchors, aliases and tags are refused: in a file of settings they are values,
/// most likely passwords, that somebody did not put in quotes.
public enum YAMLDocument {
    static let mostNodes = 100_000
    static let mostDepth = 64

    /// - Returns: nil for a text without a value, such as one of comments.
    /// - Throws: also for a second document, and for a key that a mapping has twice.
    public static func parse(_ text: String) throws(YAMLError) -> YAMLNode? {
        // libyaml keeps a pointer to the parser in itself, so it must not move.
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else { throw YAMLError(reason: "out of memory") }
        defer { yaml_parser_delete(parser) }
        let bytes = Array(text.utf8)
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        // The parser reads these bytes while it loads.
        return try bytes.withUnsafeBufferPointer { (bytes) throws(YAMLError) -> YAMLNode? in
            try refuseReferences(bytes)
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            let first = try load(parser, lines)
            if first != nil, let second = try load(parser, lines) {
                throw YAMLError(reason: "a second document begins", line: second.line)
            }
            return first
        }
    }

    /// The first anchor, alias or tag is an error. Anything else that is wrong is left to the parser.
    private static func refuseReferences(_ bytes: UnsafeBufferPointer<UInt8>) throws(YAMLError) {
        let scanner = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { scanner.deallocate() }
        guard yaml_parser_initialize(scanner) == 1 else { throw YAMLError(reason: "out of memory") }
        defer { yaml_parser_delete(scanner) }
        yaml_parser_set_input_string(scanner, bytes.baseAddress, bytes.count)
        yaml_parser_set_encoding(scanner, YAML_UTF8_ENCODING)
        var isOver = false
        while !isOver {
            var token = yaml_token_t()
            guard yaml_parser_scan(scanner, &token) == 1 else { return }
            defer { yaml_token_delete(&token) }
            let sign: (character: String, name: String)? =
                switch token.type {
                case YAML_ANCHOR_TOKEN: ("&", "an anchor")
                case YAML_ALIAS_TOKEN: ("*", "an alias")
                case YAML_TAG_TOKEN: ("!", "a tag")
                default: nil
                }
            if let sign {
                let reason = "a value that begins with \(sign.character) is \(sign.name): put it in quotes"
                throw YAMLError(reason: reason, line: Int(token.start_mark.line) + 1)
            }
            isOver = token.type == YAML_STREAM_END_TOKEN || token.type == YAML_NO_TOKEN
        }
    }

    private typealias Lines = [Substring.UnicodeScalarView]

    /// Whether ` #x` follows a value that ends at `mark`. A comment usually has a blank after its sign.
    private static func isCutByHash(_ mark: yaml_mark_t, _ lines: Lines) -> Bool {
        guard lines.indices.contains(Int(mark.line)) else { return false }
        let rest = lines[Int(mark.line)].dropFirst(Int(mark.column)).drop { $0 == " " || $0 == "\t" }
        guard rest.first == "#", let next = rest.dropFirst().first else { return false }
        return !next.properties.isWhitespace && next != "#"
    }

    /// Loads the next document. Nil at the end of the text.
    private static func load(
        _ parser: UnsafeMutablePointer<yaml_parser_t>, _ lines: Lines
    ) throws(YAMLError) -> YAMLNode? {
        var document = yaml_document_t()
        guard yaml_parser_load(parser, &document) == 1 else { throw problem(parser.pointee) }
        defer { yaml_document_delete(&document) }
        guard yaml_document_get_root_node(&document) != nil else { return nil }
        var left = mostNodes
        // The root is the first node.
        return try node(1, &document, lines, depth: 0, left: &left)
    }

    private static func problem(_ parser: yaml_parser_t) -> YAMLError {
        var reason = parser.problem.map { String(cString: $0) } ?? "out of memory"
        // A password with such a character needs quotes.
        let signs = [
            "cannot start any token", "mapping values are not allowed", "expected comment or line break",
            "expected whitespace or line break", "expected alphabetic or numeric character",
        ]
        if signs.contains(where: { reason.contains($0) }) { reason += "; put the value in quotes" }
        // The reader of bytes knows no lines.
        let line = parser.error == YAML_READER_ERROR ? nil : Int(parser.problem_mark.line) + 1
        return YAMLError(reason: reason, line: line)
    }

    private static func node(
        _ index: Int32, _ document: inout yaml_document_t, _ lines: Lines, depth: Int, left: inout Int
    ) throws(YAMLError) -> YAMLNode {
        guard let found = yaml_document_get_node(&document, index)?.pointee else {
            throw YAMLError(reason: "a node is missing")
        }
        let line = Int(found.start_mark.line) + 1
        left -= 1
        guard left >= 0, depth <= mostDepth else {
            throw YAMLError(reason: "too much is nested or repeated", line: line)
        }
        switch found.type {
        case YAML_SCALAR_NODE:
            let bytes = UnsafeBufferPointer(start: found.data.scalar.value, count: found.data.scalar.length)
            let isPlain = found.data.scalar.style == YAML_PLAIN_SCALAR_STYLE
            return YAMLNode(
                content: .scalar(String(decoding: bytes, as: UTF8.self), isPlain: isPlain), line: line,
                isCutByHash: isPlain && isCutByHash(found.end_mark, lines))
        case YAML_SEQUENCE_NODE:
            var items: [YAMLNode] = []
            for item in UnsafeBufferPointer(of: found.data.sequence.items.start, to: found.data.sequence.items.top) {
                items.append(try node(item, &document, lines, depth: depth + 1, left: &left))
            }
            return YAMLNode(content: .sequence(items), line: line)
        case YAML_MAPPING_NODE:
            var pairs: [(key: YAMLNode, value: YAMLNode)] = []
            var seen: Set<[UInt8]> = []
            for pair in UnsafeBufferPointer(of: found.data.mapping.pairs.start, to: found.data.mapping.pairs.top) {
                let key = try node(pair.key, &document, lines, depth: depth + 1, left: &left)
                if case .scalar(let text, _) = key.content, !seen.insert(Array(text.utf8)).inserted {
                    throw YAMLError(reason: "'\(text)' is there twice in one section", line: key.line)
                }
                pairs.append((key, try node(pair.value, &document, lines, depth: depth + 1, left: &left)))
            }
            return YAMLNode(content: .mapping(pairs), line: line)
        default: throw YAMLError(reason: "a node of an unknown kind", line: line)
        }
    }
}

extension UnsafeBufferPointer {
    /// One of libyaml's stacks.
    fileprivate init(of start: UnsafeMutablePointer<Element>?, to top: UnsafeMutablePointer<Element>?) {
        self.init(start: start, count: start.flatMap { start in top.map { $0 - start } } ?? 0)
    }
}
