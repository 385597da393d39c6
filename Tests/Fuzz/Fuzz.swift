import Foundation

/// The harnesses of `bin/fuzz NAME`. libFuzzer makes inputs, this program gives each to one reader, and the address
/// sanitizer watches. A trap, a leak, a limit that is exceeded or an input that takes too long ends the run. An error
/// that the reader throws is a good answer.
///
/// This target is built only with LAMPLIGHTER_FUZZ=1, because it needs libFuzzer.
enum Harness: String, CaseIterable {
    case json, audience, publish, csv, ndjson, resp, url, settings, http2

    /// The one that the environment names. libFuzzer owns the command line.
    static let chosen: Harness = {
        let name = ProcessInfo.processInfo.environment["LAMPLIGHTER_FUZZ_TARGET"] ?? ""
        guard let harness = Harness(rawValue: name) else {
            fatalError("LAMPLIGHTER_FUZZ_TARGET is not one of \(allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return harness
    }()

    func run(_ bytes: [UInt8]) {
        switch self {
        case .json: fuzzJSON(bytes)
        case .audience: fuzzAudience(bytes)
        case .publish: fuzzPublish(bytes)
        case .csv: fuzzCSV(bytes)
        case .ndjson: fuzzNDJSON(bytes)
        case .resp: fuzzReplies(bytes)
        case .url: fuzzURLs(bytes)
        case .settings: fuzzSettings(bytes)
        case .http2: fuzzHTTP2(bytes)
        }
    }
}

@_cdecl("LLVMFuzzerTestOneInput") public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    Harness.chosen.run(Array(UnsafeBufferPointer(start: start, count: count)))
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver") private func runFuzzer(
    _ count: UnsafeMutablePointer<Int32>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>,
    _ run: @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
) -> Int32

/// The program's `main`, by the name that SwiftPM gives it.
@_cdecl("Fuzz_main") public func fuzzMain(
    _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
) -> Int32 {
    var (count, arguments) = (count, arguments)
    return runFuzzer(&count, &arguments) { testOneInput($0, $1) }
}

/// A promise that must hold for every input.
func promise(_ isKept: Bool, _ what: String) { if !isKept { fatalError("broken promise: \(what)") } }
