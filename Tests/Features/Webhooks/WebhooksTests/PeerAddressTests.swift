import Curl
import Testing

/// Which addresses a webhook may be at.
@Suite struct PeerAddressTests {
    @Test(arguments: [
        "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.1", "172.15.255.255", "172.32.0.1", "192.167.255.255",
        "192.169.0.1", "198.17.255.255", "198.20.0.1", "223.255.255.255", "2606:2800:220:1:248:1893:25c8:1946",
        "2a00:1450:4001:81b::200e", "2001:200::1", "64:ff9b::8.8.8.8", "2002:808:808::1",
    ])
    func `public`(text: String) throws {
        let address = try #require(PeerAddress(text))
        #expect(address.isPublic)
    }

    @Test(arguments: [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.9.9.9",
        "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
        "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "fe80::1", "fec0::1",
        "fc00::1", "fd00:ec2::254", "ff02::1", "2001::1", "2001:db8::1", "3fff::1", "100::1", "64:ff9b::10.0.0.1",
        "64:ff9b::169.254.169.254", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a9fe:a9fe::1", "5f00::1",
    ])
    func `not public`(text: String) throws {
        let address = try #require(PeerAddress(text))
        #expect(!address.isPublic)
    }

    @Test func `an address is shown as it is usually written`() {
        #expect(PeerAddress("169.254.169.254")?.description == "169.254.169.254")
        #expect(PeerAddress("0:0:0:0:0:0:0:1")?.description == "::1")
        #expect(PeerAddress("localhost") == nil && PeerAddress(bytes: [1, 2, 3]) == nil)
    }
}
