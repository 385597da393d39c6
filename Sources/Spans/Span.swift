internal import StrictJSON

/// A part of the work on a push: its name, its time, and numbers about it. A span never holds a token or a payload.
public struct Span: Sendable, Hashable {
    /// The numbers are OTLP's.
    public enum Kind: Int, Sendable, Hashable { case inside = 1, server, client }
    public enum Value: Sendable, Hashable {
        case text(String)
        case count(Int)
    }
    public struct Attribute: Sendable, Hashable {
        public var key: String
        public var value: Value
        public init(_ key: String, _ value: Value) { (self.key, self.value) = (key, value) }
    }

    public var name: String
    public var kind: Kind
    public var context: TraceContext
    /// The span that it is a part of, which another process may have. Nil: it is the root.
    public var parent: String?
    /// Epoch nanoseconds.
    public var start: Int64
    public var end: Int64
    public var attributes: [Attribute]
    /// Why it failed. Nil: it did not.
    public var failure: String?

    public init(
        _ name: String, _ kind: Kind, _ context: TraceContext, parent: String?, start: Int64, end: Int64,
        _ attributes: [Attribute] = [], failure: String? = nil
    ) {
        (self.name, self.kind, self.context, self.parent) = (name, kind, context, parent)
        // Machines' clocks differ, and a clock may be set back in between.
        (self.start, self.end) = (start, max(start, end))
        (self.attributes, self.failure) = (attributes, failure)
    }
}

extension Span {
    /// `Span` of OTLP, in opentelemetry/proto/trace/v1/trace.proto of
    /// https://github.com/open-telemetry/opentelemetry-proto
    var json: JSON {
        .fields([
            "traceId": .string(context.trace), "spanId": .string(context.span),
            "parentSpanId": parent.map { .string($0) }, "name": .string(name), "kind": .integer(kind.rawValue),
            "startTimeUnixNano": .string("\(start)"), "endTimeUnixNano": .string("\(end)"),
            "attributes": .array(attributes.map(\.json)),
            "status": failure.map { .fields(["code": .integer(2), "message": .string($0)]) },
        ])
    }
}

extension Span.Attribute {
    /// 64-bit numbers are text, as protobuf's JSON has them.
    var json: JSON {
        let form: JSON =
            switch value {
            case .text(let text): .fields(["stringValue": .string(text)])
            case .count(let count): .fields(["intValue": .string("\(count)")])
            }
        return .fields(["key": .string(key), "value": form])
    }
}
