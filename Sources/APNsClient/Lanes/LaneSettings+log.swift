internal import APNsWire
internal import Logging

/// The warnings of a lane about its connections, in the same words over libcurl and nghttp2.
extension LaneSettings {
    func logNoConnection(_ cause: NoAnswer.Cause, _ words: String) {
        logger.warning(
            "no connection to APNs",
            metadata: ["origin": "\(origin)", "cause": "\(cause.rawValue)", "error": "\(words)"])
    }

    /// Logs that connections are made but bring no answer, because each stream is refused or none is allowed.
    /// - Parameter failures: connections in a row
    func logRefusal(failures: Int) {
        logger.warning(
            "APNs accepts no requests on its connections; waiting pushes are tried again later",
            metadata: ["origin": "\(origin)", "connections": "\(failures)"])
    }

    /// Logs the reason for timeouts, which do not show it themselves.
    func logClosedWindow(inFlight: Int) {
        logger.warning(
            "APNs accepts no request bodies: its flow-control window stays closed",
            metadata: ["origin": "\(origin)", "in_flight": "\(inFlight)"])
    }
}
