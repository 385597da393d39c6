import Foundation
import TestSupport
import Testing

/// Type-checks the code for iOS, and the app of docs/ios.md, against stand-ins of Apple's declarations.
@Suite struct StandInTests {
    private static let flags = [
        "-swift-version", "6", "-parse-as-library", "-warnings-as-errors", "-package-name", "lamplighter",
        "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "MemberImportVisibility",
        "-enable-upcoming-feature", "ExistentialAny",
    ]
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Xcode's new targets have these settings ("Approachable Concurrency").
    private static let mainActor =
        ["-default-isolation", "MainActor"]
        + ["NonisolatedNonsendingByDefault", "InferIsolatedConformances"].flatMap { ["-enable-upcoming-feature", $0] }

    private func swiftc(_ module: String, _ files: [String], _ more: [String] = []) async throws {
        let output = directory.path(module + ".log")
        _ = FileManager.default.createFile(atPath: output, contents: nil)
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: output))
        let compiler = try ChildProcess(
            ["swiftc"] + Self.flags + more
                + [
                    "-I", directory.path(""), "-emit-module", "-module-name", module, "-o",
                    directory.path(module + ".swiftmodule"),
                ] + files,
            output: log.fileDescriptor, errors: log.fileDescriptor)
        await compiler.wait()
        let text = try String(contentsOfFile: output, encoding: .utf8)
        #expect(compiler.code == 0, "\(module): \(text)")
    }

    @Test(.timeLimit(.minutes(5))) func `the kit for iOS and the app of the page compile`() async throws {
        let root = Repository.root.path
        // WidgetKit's imports two of the others.
        for module in ["ActivityKit", "Security", "Network", "DeviceCheck", "CryptoKit", "SwiftUI", "WidgetKit"] {
            try await swiftc(module, ["\(root)/Tests/StandIns/\(module).swift"])
        }
        let folder = root + "/Sources/LamplighterKit"
        let sources = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        try await swiftc("LamplighterKit", sources.sorted().map { "\(folder)/\($0)" })

        let page = try Repository.text("docs/ios.md")
        let blocks = page.matches(of: /```swift\n([\s\S]*?)```/).map { String($0.1) }
        #expect(blocks.count >= 3)
        let backend = """
            struct Backend: Sendable { func lamplighterToken(for channel: String) async throws -> String { channel } }
            let backend = Backend()
            """
        try (blocks + [backend]).joined(separator: "\n").write(
            toFile: directory.path("App.swift"), atomically: false, encoding: .utf8)
        for more in [[], Self.mainActor] { try await swiftc("App", [directory.path("App.swift")], more) }

        let launch = try #require(blocks.first { $0.contains("Lamplighter(") })
        let body = try #require(launch.firstMatch(of: /func launch\(\) \{\n([\s\S]*?)\n\}/)).1
        #expect(body.split(separator: "\n").count <= 6, "the integration is at most six lines")
    }
}
