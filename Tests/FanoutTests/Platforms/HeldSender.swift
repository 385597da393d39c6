import Delivery
import LiveActivity
import Store

@testable import Fanout

/// Opens once, for all that wait.
actor Gate {
    private var isOpen = false
    private var isReached = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watching: [CheckedContinuation<Void, Never>] = []

    /// Waits until somebody waits.
    func reached() async {
        if !isReached { await withCheckedContinuation { watching.append($0) } }
    }

    func pass() async {
        isReached = true
        for one in watching { one.resume() }
        watching = []
        if isOpen { return }
        await withCheckedContinuation { waiting.append($0) }
    }

    func open() {
        isOpen = true
        for one in waiting { one.resume() }
        waiting = []
    }
}

/// A sender whose transport waits.
struct HeldSender: PlatformSender {
    struct Held: PushTransport {
        let inner: any PushTransport
        let gate: Gate
        var requestTimeout: Duration { inner.requestTimeout }
        func close() async { await inner.close() }
        func send(
            _ page: TokenPage, _ push: PreparedPush, while permission: any SendPermission, _ handover: Handover?
        ) async -> PageOutcome {
            await gate.pass()
            return await inner.send(page, push, while: permission, handover)
        }
    }

    private var sender: any PlatformSender
    init(sender: any PlatformSender, gate: Gate) {
        self.sender = sender
        self.sender.transport = Held(inner: sender.transport, gate: gate)
    }

    var platform: Platform { sender.platform }
    var transport: any PushTransport {
        get { sender.transport }
        set { sender.transport = newValue }
    }
    var otherTransport: (any PushTransport)? { nil }
    var reasons: PlatformReasons { sender.reasons }
    func render(_ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers) -> PreparedPush {
        sender.render(record, name, for: receivers)
    }
    func variant(
        _ record: PushRecord, _ name: ActivityName, for receivers: PushReceivers
    ) -> PreparedPush.Body? {
        sender.variant(record, name, for: receivers)
    }
    func ordersBySecond(_ record: PushRecord) -> Bool { sender.ordersBySecond(record) }
}
