import APNsWire
import Delivery
import Testing

@testable import APNsClient
@testable import Curl

@Suite struct RequestFateTests {
    @Test func `an answer that was read counts though the transfer failed afterwards`() {
        let broken = TransferResult(fault: .lost, status: 200)
        #expect(RequestFate(broken, isEstablished: true) == .answered(status: 200))
        #expect(
            RequestFate(TransferResult(fault: .timeout, status: 410), isEstablished: true) == .answered(status: 410))
        #expect(!RequestFate.retiresConnection(broken))
    }

    @Test func `what was not sent on an established connection is safe to send again`() {
        for fault in [TransferFault.unconnectable, .timeout, .lost] {
            let result = TransferResult(fault: fault, status: 0, wasSent: false)
            #expect(RequestFate(result, isEstablished: true) == .unprocessed)
        }
    }

    @Test func `what the server declared unprocessed is safe to send again elsewhere`() {
        let refused = TransferResult(fault: .unconnectable, status: 0, wasSent: true, wasDeclaredUnprocessed: true)
        #expect(RequestFate(refused, isEstablished: true) == .unprocessed)
        #expect(RequestFate.retiresConnection(refused))
    }

    @Test(arguments: [
        (TransferFault.lost, NoAnswer.Cause.connectionLost), (.streamReset, .connectionLost),
        (.unconnectable, .connectionLost), (.tls, .connectionLost), (.timeout, .timeout),
    ])
    func `what was sent and not answered is of unknown fate`(_ fault: TransferFault, _ cause: NoAnswer.Cause) {
        #expect(RequestFate(TransferResult(fault: fault, status: 0), isEstablished: true) == .unknown(cause))
    }

    @Test func `success without an answers head is a lost connection`() {
        #expect(RequestFate(TransferResult(fault: nil, status: 0), isEstablished: true) == .unknown(.connectionLost))
    }

    @Test(arguments: [
        (TransferFault.unresolvable, NoAnswer.Cause.connectionFailed), (.unconnectable, .connectionFailed),
        (.tls, .tls), (.timeout, .timeout),
    ])
    func `a connection that could not be made has sent nothing`(_ fault: TransferFault, _ cause: NoAnswer.Cause) {
        let result = TransferResult(fault: fault, status: 0, wasSent: false)
        #expect(RequestFate(result, isEstablished: false) == .unconnected(cause))
    }

    @Test func `an answer in another protocol is no answer`() {
        let result = TransferResult(fault: nil, status: 200, isHTTP2: false)
        #expect(RequestFate(result, isEstablished: true) == .unconnected(.connectionFailed))
        #expect(RequestFate.retiresConnection(result))
    }

    @Test func `silence and breaks retire the connection but a reset stream does not`() {
        #expect(RequestFate.retiresConnection(TransferResult(fault: .timeout, status: 0)))
        #expect(RequestFate.retiresConnection(TransferResult(fault: .lost, status: 0)))
        #expect(!RequestFate.retiresConnection(TransferResult(fault: .streamReset, status: 0)))
        #expect(!RequestFate.retiresConnection(TransferResult(fault: nil, status: 200)))
    }
}

@Suite struct ResponseBodyTests {
    private func read(_ text: String) -> ResponseBody { Array(text.utf8).withUnsafeBytes(ResponseBody.init) }

    @Test func `reads reason and timestamp in any order and spacing`() {
        for text in [
            #"{"reason":"Unregistered","timestamp":1719244800123}"#,
            #" { "timestamp" : 1719244800123 , "reason" : "Unregistered" } "#,
            #"{"more":{"reason":"x","list":[1,{"a":"}"}]},"reason":"Unregistered","no":null,"timestamp":1719244800123}"#,
        ] {
            let body = read(text)
            #expect(body.reason == "Unregistered")
            #expect(body.timestamp == 1_719_244_800_123)
        }
    }

    @Test(arguments: [
        "", "{", "{}", "[]", "null", "<html>502 Bad Gateway</html>", #"{"reason""#, #"{"reason":"#, #"{"reason":12}"#,
        #"{"reason":"abc"#, #"{"reason":"a\"#, "\u{0}\u{1}\u{ff}", #"{"timestamp":99999999999999999999}"#,
        #"{"reason":"tab\#u{9}in it"}"#,
    ])
    func garbageLeavesTheFieldsEmpty(_ text: String) {
        let body = read(text)
        #expect(body.reason == "")
        #expect(body.timestamp == nil)
    }

    @Test func `a timestamp of ten digits is in seconds`() {
        #expect(read(#"{"reason":"Unregistered","timestamp":1719244800}"#).timestamp == 1_719_244_800_000)
        for other in [0, 999_999_999, 10_000_000_000, 1_719_244_800_123] as [Int64] {
            #expect(read(#"{"timestamp":\#(other)}"#).timestamp == other)
        }
    }

    @Test func `a Retry-After that is a date counts from the time that the caller gives`() {
        let date = Array("Sun, 06 Nov 1994 08:49:37 GMT".utf8)
        let body = read(#"{"reason":"TooManyRequests"}"#)
        let rejection = Rejection(status: 429, body: body, retryAfter: date, now: (784_111_777 - 20) * 1_000)
        #expect(rejection.retryAfter == 20)
    }

    @Test func `a reason longer than any of Apple's is dropped`() {
        #expect(read(#"{"reason":"\#(String(repeating: "x", count: 65))"}"#).reason == "")
        #expect(read(#"{"reason":"\#(String(repeating: "x", count: 64))"}"#).reason.count == 64)
    }

    @Test func `every prefix of an answer is read without trapping`() {
        let bytes = Array(#"{"a":[{"b":"\u00e4\""}],"reason":"ExpiredToken","timestamp":1719244800123}"#.utf8)
        for count in 0...bytes.count { _ = bytes[..<count].withUnsafeBytes(ResponseBody.init) }
    }
}
