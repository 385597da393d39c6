// A stand-in for Apple's declarations: see ActivityKit.swift.
public import Foundation

public struct SHA256Digest: Sequence, Sendable {
    public func makeIterator() -> Array<UInt8>.Iterator { fatalError() }
}

public struct SHA256 {
    public static func hash(data: Data) -> SHA256Digest { fatalError() }
}
