// A stand-in for Apple's declarations: see ActivityKit.swift.
public enum OSLogPrivacy: Sendable { case `public`, `private` }

public struct OSLogInterpolation: StringInterpolationProtocol {
    public init(literalCapacity: Int, interpolationCount: Int) { fatalError() }
    public mutating func appendLiteral(_: String) { fatalError() }
    public mutating func appendInterpolation(_: @autoclosure @escaping () -> String, privacy: OSLogPrivacy) {
        fatalError()
    }
}

public struct OSLogMessage: ExpressibleByStringInterpolation {
    public init(stringInterpolation: OSLogInterpolation) { fatalError() }
    public init(stringLiteral: String) { fatalError() }
}

public struct Logger: Sendable {
    public init(subsystem: String, category: String) { fatalError() }
    public func error(_: OSLogMessage) { fatalError() }
}
