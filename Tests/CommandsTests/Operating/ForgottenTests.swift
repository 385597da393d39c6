import Answers
import Testing

@testable import Commands

@Suite struct ForgottenTests {
    @Test func `what nobody knows is not called forgotten`() {
        #expect(ForgottenAnswer(unknown: nil).lines(["a", "b"]) == ["a, b: forgotten"])
        let nothing = "nothing is stored, so nothing was forgotten"
        #expect(ForgottenAnswer(unknown: ["b"]).lines(["a", "b"]) == ["a: forgotten", "b: \(nothing)"])
        #expect(
            ForgottenAnswer(unknown: ["u"]).lines(["u"], of: "channels of ") == ["channels of u: \(nothing)"])
    }
}
