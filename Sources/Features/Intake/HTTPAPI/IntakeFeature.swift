import LiveActivity
import Metrics
import Threads

/// Whether a gateway also publishes the entries of the apps' intakes.
private struct IntakeSwitch {
    var isOn: Bool
}

extension GatewayConfiguration {
    /// A reload does not change it.
    public var readsIntake: Bool {
        get { extras[IntakeSwitch.self]?.isOn ?? false }
        set { extras[IntakeSwitch.self] = IntakeSwitch(isOn: newValue) }
    }
}

extension GatewayFeature {
    static let intake = GatewayFeature { gateway in
        gateway.live.current.configuration.readsIntake ? [IntakeService(gateway)] : []
    }
}

extension CounterOfFeature {
    static let intake = CounterOfFeature(
        "lamplighter_intake_total", "entries of the intake that this gateway answered: accepted, rejected")
}

extension GatewayMetrics {
    func answered(_ app: AppKey, entries: Int, isAccepted: Bool) {
        counter(.intake, [("app", app.rawValue), ("outcome", isAccepted ? "accepted" : "rejected")])
            .increment(by: entries)
    }
}
