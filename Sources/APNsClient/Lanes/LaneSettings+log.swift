internal import Logging

/// The warnings of a lane about its connections, in the same words over libcurl and nghttp2.
extension LaneSettings {
    /// Connection after connection stands and brings no answer: each stream is refused, or none is allowed.
    /// - Parameter failures: connections in a row.
    func tellOfRefusal(failures: Int) {
        logger.warning(
            "APNs takes no requests on its connections: what waits is tried again later",
            metadata: ["origin": "\(origin)", "connections": "\(failures)"])
    }

    /// Told once for each connection: its requests end with a timeout that says nothing of the cause.
    func tellOfClosedWindow(inFlight: Int) {
        logger.warning(
            "APNs takes no bodies of requests: its flow-control window stays closed",
            metadata: ["origin": "\(origin)", "in_flight": "\(inFlight)"])
    }
}
