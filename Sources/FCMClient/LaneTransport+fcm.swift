internal import Delivery
public import Lanes
internal import LiveActivity
public import Logging

extension PlatformName { public static let fcm = PlatformName(label: "fcm", title: "FCM") }

extension LaneTransport {
    /// Lanes to FCM.
    /// - Throws: if the configuration cannot send, for example with a CA file without a certificate
    public convenience init(
        _ kind: TransportKind, configuration: FCMClientConfiguration, logger: Logger
    ) throws(FCMClientError) {
        let settings = try configuration.settings(logger)
        do throws(LaneError) {
            try self.init(configuration.lanes, kind, settings, name: "fcm-lane")
        } catch {
            throw .system(error.description)
        }
    }
}

extension Rejection {
    init(fcm answer: LaneAnswer) {
        self.init(fcm: answer.status, FCMErrorBody(Array(answer.body)), retryAfter: answer.retryAfter)
    }
}
