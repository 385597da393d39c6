import Testing

@testable import Commands

@Suite struct ProcessNameTests {
    @Test func `containers that share the machine's name have names of their own`() {
        func name(_ namespace: String?) -> String {
            ProcessName.of(process: 1, on: "push-7", namespace: namespace)
        }
        #expect(name("pid:[4026531836]") == "push-7-1")
        #expect(name(nil) == "push-7-1")
        #expect(name("pid:[4026532701]") == "push-7-1-4026532701")
        #expect(name("pid:[4026532702]") != name("pid:[4026532701]"))
    }
}
