/// Faults of FCM, beside the faults of APNs.
extension Disturber {
    struct FCMState: Sendable {
        var fault: APNsFault?
        /// The beginnings of dead addresses.
        var dead: [String] = []

        /// The faults in the simulator's JSON.
        var faults: String {
            // Each third address has the older form of the answer.
            let entries = dead.enumerated().map { place, prefix in
                let reason = place % 3 == 2 ? "UNREGISTERED_AS_INVALID_ARGUMENT" : "UNREGISTERED"
                return #"{"prefix":"\#(prefix)","reason":"\#(reason)"}"#
            }
            let parts = [fault?.faults ?? "", #""dead_tokens":[\#(entries.joined(separator: ","))]"#]
            return "{" + parts.filter { !$0.isEmpty }.joined(separator: ",") + "}"
        }
    }

    func disturbFCM(_ faults: [Planned<APNsFault>]) async {
        for planned in faults {
            await log.clock.sleep(until: planned.at)
            await changeFCM(planned.what)
            await log.clock.sleep(until: planned.at + planned.what.milliseconds)
            await changeFCM(nil)
        }
    }

    func changeFCM(_ fault: APNsFault?) async {
        change { state in
            state.fcm.fault = fault
            if fault != nil { state.counts["FCM faults", default: 0] += 1 }
        }
        log.note("FCM: \(fault?.title ?? "well again")")
        await applyFCMFaults()
    }

    /// From now on FCM calls the address dead.
    func killAddress(_ prefix: String) async {
        change { state in
            state.fcm.dead.append(prefix)
            state.counts["addresses that died", default: 0] += 1
        }
        log.note("FCM: the address \(prefix) is dead")
        await applyFCMFaults()
    }

    private func applyFCMFaults() async { await applyFaults("/fcm/faults") { $0.fcm.faults } }
}
