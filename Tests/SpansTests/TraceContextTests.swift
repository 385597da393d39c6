import Testing

@testable import Spans

@Suite("The header traceparent") struct TraceContextTests {
    private static let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

    @Test func `the standard's example is read and written`() throws {
        let context = try #require(TraceContext(Self.example))
        #expect(context.trace == "4bf92f3577b34da6a3ce929d0e0e4736" && context.span == "00f067aa0ba902b7")
        #expect(context.isSampled && context.header == Self.example)
        #expect(try #require(TraceContext(Self.example.dropLast(2) + "00")).isSampled == false)
        // Other flags are of later versions.
        #expect(try #require(TraceContext(Self.example.dropLast(2) + "03")).isSampled)
    }

    @Test func `a later version may have more fields`() {
        #expect(TraceContext("cc" + Self.example.dropFirst(2)) != nil)
        #expect(TraceContext("cc" + Self.example.dropFirst(2) + "-more") != nil)
        #expect(TraceContext("cc" + Self.example.dropFirst(2) + ".more") == nil)
    }

    @Test(arguments: [
        "", "00", String(example.dropLast()), example + "0", example + "-more", example.uppercased(),
        "ff" + example.dropFirst(2), "0g" + example.dropFirst(2),
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473\u{e9}-00f067aa0ba902b7-01",
    ])
    func `anything else is no context`(header: String) {
        #expect(TraceContext(header) == nil)
    }

    @Test func `a child is another span of the same trace`() {
        let root = TraceContext.root()
        let child = root.child()
        #expect(child.trace == root.trace && child.span != root.span && child.isSampled)
        #expect(TraceContext(child.header) == child)
    }
}
