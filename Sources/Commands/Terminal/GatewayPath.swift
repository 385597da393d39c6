import LiveActivity

/// A path such as `/api/dead/\(id)`. Values in it are percent-encoded, slashes too, so a value stays one segment.
struct GatewayPath: ExpressibleByStringInterpolation {
    let text: String
    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }
    static func encoded(_ text: String) -> String { text.percentEncoded { !$0.isURLUnreserved && $0 != 0x7E } }

    struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ value: String) { text += GatewayPath.encoded(value) }
        mutating func appendInterpolation(_ value: Int) { text += String(value) }
    }
}
