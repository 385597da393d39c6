import Testing

@testable import HTTPAPI

/// The order in which a call is checked.
@Suite struct RequestCheckTests {
    private let http = RequestCheck.ofAll + RequestCheck.ofCalls
    private let open = RequestCheck.ofAll + RequestCheck.ofOpenCalls

    @Test func `every check stands in a list, and once in each`() {
        #expect(Set(http + open) == Set(RequestCheck.allCases))
        for list in [http, open, RequestCheck.ofConsole] { #expect(Set(list).count == list.count) }
    }

    @Test func `the console passes the checks of a request that are not of HTTP, in the same order`() {
        let ofHTTP: Set<RequestCheck> = [
            .form, .caller, .addressRate, .credentialRate, .body,
        ]
        #expect(RequestCheck.ofConsole == http.filter { !ofHTTP.contains($0) })
    }

    @Test(
        arguments: [
            // A request that two readers read in two ways is refused before anything else.
            (RequestCheck.form, RequestCheck.route),
            // Servers are not counted by address, and a wrong secret is counted before its 401.
            (.caller, .addressRate), (.addressRate, .access),
            (.access, .credentialRate), (.credentialRate, .rights),
            // A body is read only if the call may be made.
            (.rights, .body), (.query, .body),
            // A slow body must not block other requests.
            (.body, .capacity),
        ] as [(RequestCheck, RequestCheck)])
    func `one check stands before another`(_ first: RequestCheck, _ second: RequestCheck) throws {
        let (early, late) = (try #require(http.firstIndex(of: first)), try #require(http.firstIndex(of: second)))
        #expect(early < late)
    }

    @Test func `what needs no secret is counted by its address before its secret is checked`() {
        #expect(open == [.form, .route, .addressRate, .monitor, .capacity])
    }
}
