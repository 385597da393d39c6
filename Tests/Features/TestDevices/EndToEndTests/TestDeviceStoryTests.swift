import Foundation
import TestSupport
import Testing

/// `lamplighter test-device`, with the real programs.
struct TestDeviceStoryTests {
    @Test func `test devices are made, listed and removed`() async throws {
        let deployment = try await Deployment.start()
        func run(_ arguments: String...) async throws -> String {
            let output = try await deployment.run(arguments)
            #expect(output.code == 0, "\(arguments): \(output)")
            return output.out
        }
        #expect(try await run("test-device", "add", "anna", "device-1") == "anna is a test device\n")
        #expect(try await run("test-device").contains("anna  device-1"))
        #expect(try await run("test-device", "remove", "anna") == "anna is removed\n")
        #expect(try await run("test-device") == "no test devices\n")
    }
}
