import LiveActivity

/// A template in the part of the Mustache language that the pages use: `{{name}}`, escaped; `{{{name}}}`, as it is;
/// `{{#name}}…{{/name}}` for each item, or if there is a value; `{{^name}}…{{/name}}` if there is none; `{{.}}`, the
/// item; `{{>name}}`, another template. Absent, `false` and an empty list are no value. All of it works on UTF-8 bytes:
/// a combining accent behind a mark makes another Character of the mark, but no other byte.
struct PageTemplate: Sendable {
    enum Part: Sendable {
        case text([UInt8])
        case value(String, Form)
        indirect case section(String, isInverted: Bool, [Part])
        case partial(String)
    }

    /// The way in which a value's characters are written.
    enum Form: Sendable {
        case asItIs
        /// For an attribute or a field, whose value the browser sends back as it is.
        case escaped
        /// For text. Hidden characters are marked too.
        case marked
    }

    struct Mistake: Error, CustomStringConvertible {
        var description: String
    }

    private let parts: [Part]

    init(_ bytes: [UInt8]) throws(Mistake) {
        var reader = TemplateReader(bytes: bytes)
        parts = try reader.parts(until: nil)
    }

    /// - Parameter partial: the template of that name.
    func render(_ values: [String: Any], partial: (String) -> PageTemplate?) -> String {
        var output: [UInt8] = []
        render(parts, [values], partial, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// - Parameter scopes: the values from the outermost section to the innermost.
    private func render(
        _ parts: [Part], _ scopes: [Any], _ partial: (String) -> PageTemplate?, into output: inout [UInt8]
    ) {
        for part in parts {
            switch part {
            case .text(let bytes): output += bytes
            case .value(let name, let form):
                // A sealed value that is absent is `false`.
                guard let value = Self.find(name, scopes), !(value is Bool) else { continue }
                let text = value as? String ?? "\(value)"
                switch form {
                case .asItIs: output += text.utf8
                case .escaped: HTMLText.escape(text, into: &output)
                case .marked: HTMLText.mark(text, into: &output)
                }
            case .section(let name, let isInverted, let inner):
                let items = Self.items(Self.find(name, scopes))
                if isInverted {
                    if items.isEmpty { render(inner, scopes, partial, into: &output) }
                } else {
                    for item in items { render(inner, scopes + [item], partial, into: &output) }
                }
            case .partial(let name):
                guard let template = partial(name) else { preconditionFailure("no template \(name)") }
                template.render(template.parts, scopes, partial, into: &output)
            }
        }
    }

    private static func find(_ name: String, _ scopes: [Any]) -> Any? {
        if name == "." { return scopes.last }
        for scope in scopes.reversed() {
            guard let found = (scope as? [String: Any])?[name] else { continue }
            guard let optional = found as? any OptionalValue else { return found }
            return optional.wrapped
        }
        return nil
    }

    private static func items(_ value: Any?) -> [Any] {
        switch value {
        case nil: []
        case let isShown as Bool: isShown ? [isShown] : []
        case let items as [Any]: items
        case .some(let value): [value]
        }
    }
}

/// Reads the parts of a template.
private struct TemplateReader {
    let bytes: [UInt8]
    private var position = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// - Parameter section: the section that must end. Nil: the template as a whole.
    mutating func parts(until section: String?) throws(PageTemplate.Mistake) -> [PageTemplate.Part] {
        var parts: [PageTemplate.Part] = []
        while true {
            guard let open = braces(2, from: position) else {
                if let section { throw PageTemplate.Mistake(description: "section \(section) does not end") }
                parts.append(.text(Array(bytes[position...])))
                return parts
            }
            let isPlain = bytes[open.upperBound...].first == UInt8(ascii: "{")
            let start = open.upperBound + (isPlain ? 1 : 0)
            guard let close = braces(isPlain ? 3 : 2, UInt8(ascii: "}"), from: start) else {
                throw PageTemplate.Mistake(description: "a tag does not end")
            }
            let kind = isPlain ? nil : bytes[start..<close.lowerBound].first { "#^/>".utf8.contains($0) }
            let name = String(decoding: bytes[start..<close.lowerBound].drop { $0 == kind }, as: UTF8.self).trimmed
            // The line of a section or a partial that stands alone is not shown.
            let line = kind == nil ? nil : wholeLine(open.lowerBound, close.upperBound)
            parts.append(.text(Array(bytes[position..<(line?.lowerBound ?? open.lowerBound)])))
            position = line?.upperBound ?? close.upperBound
            switch kind {
            case UInt8(ascii: "#"): parts.append(.section(name, isInverted: false, try self.parts(until: name)))
            case UInt8(ascii: "^"): parts.append(.section(name, isInverted: true, try self.parts(until: name)))
            case UInt8(ascii: ">"): parts.append(.partial(name))
            case UInt8(ascii: "/"):
                guard name == section else { throw PageTemplate.Mistake(description: "/\(name) ends no section") }
                return parts
            default: parts.append(.value(name, isPlain ? .asItIs : isInTag(open.lowerBound) ? .escaped : .marked))
            }
        }
    }

    /// The next place with so many braces. It compares bytes, because `firstRange(of:)` takes most of a gateway's start
    /// in a debug build.
    private func braces(_ count: Int, _ brace: UInt8 = UInt8(ascii: "{"), from start: Int) -> Range<Int>? {
        var found = 0
        for place in start..<bytes.count {
            found = bytes[place] == brace ? found + 1 : 0
            if found == count { return place + 1 - count..<place + 1 }
        }
        return nil
    }

    /// Whether a place is in an HTML tag, and so in an attribute, or in the text of a field.
    private func isInTag(_ place: Int) -> Bool {
        guard let start = bytes[..<place].lastIndex(of: UInt8(ascii: "<")) else { return false }
        let isField = bytes[start...].starts(with: "<textarea".utf8)
        return isField || !bytes[start..<place].contains(UInt8(ascii: ">"))
    }

    /// The line around a tag, with its end. Nil if it holds anything else.
    private func wholeLine(_ start: Int, _ end: Int) -> Range<Int>? {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") }
        let first = bytes[..<start].lastIndex { !isSpace($0) }
        guard first.map({ bytes[$0] == UInt8(ascii: "\n") }) ?? true else { return nil }
        let last = bytes[end...].firstIndex { !isSpace($0) }
        guard last.map({ bytes[$0] == UInt8(ascii: "\n") }) ?? true else { return nil }
        let begin = first.map { $0 + 1 } ?? 0
        // Text before `position` is another part's already.
        return begin < position ? nil : begin..<(last.map { $0 + 1 } ?? bytes.count)
    }
}

/// An optional inside an `Any`.
private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { self }
}
