import Testing

@testable import HTTPAPI

/// The order in which a call is checked.
@Suite struct RequestGuardTests {
    private let http = RequestGuard.ofAll + RequestGuard.ofCalls
    private let open = RequestGuard.ofAll + RequestGuard.ofOpenCalls

    @Test func `every guard stands in a list, and once in each`() {
        #expect(Set(http + open) == Set(RequestGuard.allCases))
        for list in [http, open, RequestGuard.ofConsole] { #expect(Set(list).count == list.count) }
    }

    @Test func `the console passes the guards of a request that are not of HTTP, in the same order`() {
        let ofHTTP: Set<RequestGuard> = [
            .form, .caller, .addressRate, .credentialRate, .body,
        ]
        #expect(RequestGuard.ofConsole == http.filter { !ofHTTP.contains($0) })
    }

    @Test(
        arguments: [
            // A request that two readers read in two ways is refused before anything else.
            (RequestGuard.form, RequestGuard.route),
            // Servers are not counted by address, and a wrong secret is counted before its 401.
            (.caller, .addressRate), (.addressRate, .access),
            (.access, .credentialRate), (.credentialRate, .rights),
            // A body is read only if the call may be made.
            (.rights, .body), (.query, .body),
            // A slow body must not block other requests.
            (.body, .capacity),
        ] as [(RequestGuard, RequestGuard)])
    func `one guard stands before another`(_ first: RequestGuard, _ second: RequestGuard) throws {
        let (early, late) = (try #require(http.firstIndex(of: first)), try #require(http.firstIndex(of: second)))
        #expect(early < late)
    }

    @Test func `what needs no secret is counted by its address before its secret is checked`() {
        #expect(open == [.form, .route, .addressRate, .monitor, .capacity])
    }
}
