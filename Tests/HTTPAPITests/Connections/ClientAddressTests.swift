import HTTPTypes
import Testing

@testable import HTTPAPI

/// Clients that count as this machine: limits by address do not count it, and `gateway.server_addresses` admits it.
@Suite struct ClientAddressTests {
    private let trusted = TrustedProxies(AddressRanges("10.0.0.0/8,127.0.0.1")!)

    private func client(_ peer: String?, _ headers: HTTPFields = [:], trusts: Bool = false) -> ClientAddress {
        ClientAddress(peer: peer, headers: headers, trusted: trusts ? trusted : TrustedProxies())
    }

    @Test(arguments: ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", nil])
    func `a command on this machine is an operator`(peer: String?) {
        let address = client(peer)
        #expect(address.isOwn && address.isOperator && address.text == peer ?? "local")
    }

    @Test(arguments: ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "Via", "X-Real-IP"])
    func `a proxy on this machine that is not named is no operator`(header: String) throws {
        let address = client("127.0.0.1", [try #require(HTTPField.Name(header)): "198.51.100.7"])
        #expect(address.isOwn && !address.isOperator && address.text == "127.0.0.1")
    }

    @Test func `a client cannot call itself this machine`() {
        for peer in ["10.1.2.3", "127.0.0.1"] {
            for claim in ["127.0.0.1, 198.51.100.7", "198.51.100.7"] {
                let address = client(peer, [.forwardedFor: claim], trusts: true)
                #expect(!address.isOwn && !address.isOperator && address.text == "198.51.100.7")
            }
        }
        let told = client("10.1.2.3", [.forwardedFor: "127.0.0.1"], trusts: true)
        #expect(!told.isOwn && !told.isOperator && told.text == "127.0.0.1")
        #expect(!client("198.51.100.7", [.forwardedFor: "127.0.0.1"]).isOwn)
    }
}
