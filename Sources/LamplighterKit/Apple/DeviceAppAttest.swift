// See the head of `ActivityKitSource.swift`: type-checked against a stand-in, not run.
#if canImport(ActivityKit) && !os(macOS) && !targetEnvironment(macCatalyst)
    import CryptoKit
    import DeviceCheck
    import Foundation

    /// App Attest of this device.
    struct DeviceAppAttest: AppAttestService {
        func generateKey() async throws -> String { try await Self.service().generateKey() }

        func attestation(of key: String, _ clientData: Data) async throws -> Data {
            try await Self.telling { try await $0.attestKey(key, clientDataHash: Self.hash(clientData)) }
        }

        func assertion(by key: String, _ clientData: Data) async throws -> Data {
            try await Self.telling { try await $0.generateAssertion(key, clientDataHash: Self.hash(clientData)) }
        }

        /// After other errors, as `serverUnavailable`, the key is as good as before.
        private static func telling(_ body: (DCAppAttestService) async throws -> Data) async throws -> Data {
            do { return try await body(service()) } catch let error as DCError
                where error.code == .invalidKey || error.code == .invalidInput
            { throw AppAttest.InvalidKey() }
        }

        private static func hash(_ data: Data) -> Data { Data(SHA256.hash(data: data)) }

        private static func service() throws -> DCAppAttestService {
            let service = DCAppAttestService.shared
            guard service.isSupported else {
                throw AppAttest.Failure(
                    description: "this device or extension has no App Attest: ask your backend for a token")
            }
            return service
        }
    }
#endif
