import Delivery
import Lanes
import LiveActivity
import Testing

/// What FakePush has and APNs does not have.
@Suite struct FakePushTests {
    private func withTransport(
        _ kind: TransportKind, _ body: (LaneTransport, FakePushJudge, FakeAccessTokens) async throws -> Void
    ) async throws {
        try await PlatformUnderTest.withServer { server in
            let tokens = FakeAccessTokens()
            let transport = try LaneTransport(
                1, kind, PlatformUnderTest.settings(server, tokens, clock: { 784_111_777_000 - 20_000 }), name: "fake")
            try await body(transport, server.judge, tokens)
            await transport.close()
        }
    }

    private func page(_ addresses: [[UInt8]]) -> TokenPage {
        var page = TokenPage()
        for address in addresses { page.append(channel: [1], token: address, registeredAt: 0) }
        return page
    }

    @Test(arguments: TransportKind.allCases)
    func `each address is in a body of its own, whatever its length`(_ kind: TransportKind) async throws {
        try await withTransport(kind) { transport, judge, _ in
            for bytes in [200, FakePush.longestAddress, 201] {
                let address = FakePush.address(7, bytes: bytes)
                #expect(await transport.send(page([address]), FakePush.push(bytes)) == PageOutcome(accepted: 1))
                let text = String(decoding: address, as: UTF8.self)
                #expect(
                    judge.newest
                        == FakePushJudge.Request(
                            path: FakePush.path, authorization: "Bearer \(FakeAccessTokens.secret(1))",
                            body:
                                #"{"message":{"token":"\#(text)","data":{"push":"\#(bytes)","state":"{\"home\":1}"}}}"#
                        ))
            }
        }
    }

    /// A lane overwrites one buffer with the path of each request.
    @Test(arguments: TransportKind.allCases)
    func `shared paths of any length take turns with paths that have the address`(_ kind: TransportKind) async throws {
        try await withTransport(kind) { transport, judge, _ in
            let address = FakePush.address(7)
            var push = FakePush.push(1)
            let long = "/" + String(repeating: "a", count: 3_000)
            let hex = "/hex/" + Hex.encode(address)
            for (path, expected) in [
                (PreparedPush.Path.hexAddress(after: "/hex/"), hex), (.shared("/hex/"), "/hex/"), (.shared(long), long),
                (.hexAddress(after: "/hex/"), hex), (.shared("/"), "/"),
            ] {
                push.path = path
                #expect(await transport.send(page([address]), push).exceptions.count == 1)
                #expect(judge.newest?.path == expected)
            }
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `all requests that an expired token was refused for make one new token`(_ kind: TransportKind) async throws {
        try await withTransport(kind) { transport, judge, tokens in
            let addresses = (0..<400).map { FakePush.address($0) }
            #expect(await transport.send(page(addresses), FakePush.push(1)).accepted == 400)
            var faults = PlatformFaults()
            faults.expiresCredential = true
            judge.set(faults)
            #expect(await transport.send(page(addresses), FakePush.push(2)).accepted == 400)
            #expect(judge.record.refusedCredentials > 1 && tokens.count == 2)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func `a Retry-After that is a date counts from the given clock`(_ kind: TransportKind) async throws {
        try await withTransport(kind) { transport, judge, _ in
            var faults = PlatformFaults()
            faults.refusal = .tooMany
            judge.set(faults, retryAfter: "Sun, 06 Nov 1994 08:49:37 GMT")
            let outcome = await transport.send(page([FakePush.address(1)]), FakePush.push(1))
            guard case .rejected(let rejection)? = outcome.exceptions.first?.outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(rejection.retryAfter == 20)
        }
    }
}
