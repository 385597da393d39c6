// A stand-in for Apple's declarations: see ActivityKit.swift.
public import Foundation

public struct DCError: Error {
    public enum Code: Int, Sendable {
        case unknownSystemFailure, featureUnsupported, invalidInput, invalidKey, serverUnavailable
    }
    public var code: Code { fatalError() }
}

/// Not Sendable, as in Apple's SDK.
public class DCAppAttestService {
    init() { fatalError() }
    public class var shared: DCAppAttestService { fatalError() }
    public var isSupported: Bool { fatalError() }
    public func generateKey() async throws -> String { fatalError() }
    public func attestKey(_ keyId: String, clientDataHash: Data) async throws -> Data { fatalError() }
    public func generateAssertion(_ keyId: String, clientDataHash: Data) async throws -> Data { fatalError() }
}
