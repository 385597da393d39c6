internal import Synchronization

/// The record and the faults of FCM. They are empty without FCM.
extension APNsSimulator {
    public func fcmSnapshot() -> FCMRecord { fcm?.judge.withLock { $0.record.totals } ?? FCMRecord() }

    /// The report of one registration token or installation id. Nil if no message came for it.
    public func fcmReport(_ address: String) -> FCMReport? { fcm?.judge.withLock { $0.record.report(address) } }

    /// Reports of all addresses, in no order. It copies all of them.
    public func fcmReports() -> [FCMReport] {
        guard let recorder = fcm?.judge.withLock({ $0.record }) else { return [] }
        return recorder.addresses.tables.joined().map { recorder.report($0.key, $0.value) }
    }

    /// The newest request to send a message since the start or the last reset. Fast mode keeps none.
    public func newestMessage() -> RawRequest? { fcm?.judge.withLock { $0.newest }[.message] }

    /// Replaces the faults of FCM from the next request on.
    public func setFCMFaults(_ faults: Faults) throws(SimulatorError) {
        try faults.validate(at: "fcm_faults", FCMReason.self)
        fcm?.judge.withLock { $0.faults = faults }
    }

    /// Whether `Faults.deadShare` makes this address dead.
    public static func isDead(address: String, share: Double, seed: UInt64) -> Bool {
        isDead(token: Array(address.utf8), share: share, seed: seed)
    }
}
