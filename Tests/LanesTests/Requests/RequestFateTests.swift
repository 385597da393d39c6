import Delivery
import Testing

@testable import Lanes
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
