import Foundation
import TestSupport
import Testing

/// Type-checks the code for iOS, the app of Clients/iOS and that of docs/ios-by-hand.md against stand-ins of Apple's
/// declarations.
@Suite struct StandInTests {
    private static let flags = [
        "-swift-version", "6", "-parse-as-library", "-warnings-as-errors", "-package-name", "lamplighter",
        "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "ExistentialAny",
    ]
    private static let strict = ["-enable-upcoming-feature", "MemberImportVisibility"]
    /// Xcode's new targets have these settings ("Approachable Concurrency").
    private static let mainActor =
        ["-default-isolation", "MainActor"]
        + ["NonisolatedNonsendingByDefault", "InferIsolatedConformances"].flatMap { ["-enable-upcoming-feature", $0] }

    /// Apple's Foundation has these, the one on Linux has another module for them.
    private static let networking = """
        import FoundationNetworking
        typealias URLRequest = FoundationNetworking.URLRequest
        typealias URLSession = FoundationNetworking.URLSession
        typealias HTTPURLResponse = FoundationNetworking.HTTPURLResponse
        """

    private let directory: TemporaryDirectory
    private let root = Repository.root.path

    init() throws { directory = try TemporaryDirectory() }

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

    private func write(_ text: String, to name: String) throws -> String {
        try text.write(toFile: directory.path(name), atomically: false, encoding: .utf8)
        return directory.path(name)
    }

    private func blocks(_ page: String) throws -> [String] {
        try Repository.text(page).matches(of: /```swift\n([\s\S]*?)```/).map { String($0.1) }
    }

    @Test(.timeLimit(.minutes(5))) func `the kit for iOS and the apps of the pages compile`() async throws {
        // SwiftUI's and WidgetKit's import some of the others.
        let modules = [
            "ActivityKit", "Security", "Network", "DeviceCheck", "CryptoKit", "os", "UIKit", "SwiftUI", "WidgetKit",
        ]
        for module in modules { try await swiftc(module, ["\(root)/Tests/StandIns/\(module).swift"], Self.strict) }
        let folder = root + "/Sources/LamplighterKit"
        let sources = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { $0.hasSuffix(".swift") }
        try await swiftc("LamplighterKit", sources.sorted().map { "\(folder)/\($0)" }, Self.strict)
        // Mac Catalyst has ActivityKit too, but may use none of it. No stand-in can show that.
        for source in sources {
            let text = try String(contentsOfFile: "\(folder)/\(source)", encoding: .utf8)
            for line in text.split(separator: "\n") where line.contains("canImport(ActivityKit)") {
                #expect(line.contains("!targetEnvironment(macCatalyst)"), "\(source): \(line)")
            }
        }

        let networking = try write(Self.networking, to: "Networking.swift")
        let (app, shared) = (root + "/Clients/iOS/", root + "/Clients/iOS/MatchAttributes.swift")
        // Activities are not Sendable, and the code by hand has two tasks for each.
        let byHand = try write(
            (["import Foundation"] + blocks("docs/ios-by-hand.md")).joined(separator: "\n"), to: "ByHand.swift")
        for more in [[], Self.mainActor] {
            try await swiftc("MatchApp", [app + "MatchApp.swift", app + "Backend.swift", shared, networking], more)
            try await swiftc("MatchWidgets", [app + "MatchWidget.swift", shared], more)
            try await swiftc("ByHand", [byHand, networking], more)
        }
    }

    @Test func `the code of the page is the code of the app, four lines of the delegate among it`() throws {
        let folder = root + "/Clients/iOS"
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try String(contentsOfFile: folder + "/" + $0, encoding: .utf8)
        }
        let page = try blocks("docs/ios.md")
        #expect(page.count >= 4)
        for block in page { #expect(files.contains { $0.contains(block) }, "not in Clients/iOS: \(block)") }
        let delegate = try #require(page.first { $0.contains("Lamplighter(") })
        let kit = try #require(delegate.firstMatch(of: /let lamplighter[\s\S]*?\n    \}\n/)).0
        let calls = delegate.matches(of: /\n *lamplighter\./)
        #expect(kit.split(separator: "\n").count + calls.count == 4, "docs/ios.md says four lines")
    }

    @Test func `the privacy manifest says what the kit collects, and needs no reason for what it uses`() throws {
        let folder = root + "/Sources/LamplighterKit"
        let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/PrivacyInfo.xcprivacy"))
        let manifest = try #require(
            PropertyListSerialization.propertyList(from: data, options: [], format: nil) as? [String: Any])
        let collected = try #require(manifest["NSPrivacyCollectedDataTypes"] as? [[String: Any]])
        let types = collected.compactMap { $0["NSPrivacyCollectedDataType"] as? String }
        #expect(
            types == ["NSPrivacyCollectedDataTypeDeviceID", "NSPrivacyCollectedDataTypeProductInteraction"]
                && manifest["NSPrivacyTracking"] as? Bool == false)
        #expect((manifest["NSPrivacyAccessedAPITypes"] as? [Any])?.isEmpty == true)
        // Apple's list of APIs that need a reason.
        let needsReason =
            /\b(UserDefaults|systemUptime|mach_absolute_time|attributesOfItem|modificationDate|f?l?stat(fs)?\(|volumeAvailable)/
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder) where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: folder + "/" + file, encoding: .utf8)
            #expect(text.firstMatch(of: needsReason) == nil, "\(file)")
        }
    }
}
