import Testing

/// The tests' entry point, as SwiftPM writes it where no test is of XCTest. It looks for tests of XCTest in an index of
/// the sources otherwise, and writing that index takes a seventh of the CPU time of a build.
@main struct Tests {
    static func main() async { await Testing.__swiftPMEntryPoint() as Never }
}
