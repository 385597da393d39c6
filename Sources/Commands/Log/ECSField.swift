import HTTPAPI
import Logging
import StrictJSON

/// The fields of the Elastic Common Schema for what Lamplighter logs. All others are under `lamplighter.`.
enum ECSField {
    static let version = "8.11.0"

    private static let names = [
        "operation": "http.request.id", "method": "http.request.method", "status": "http.response.status_code",
        "in": "http.request.body.bytes", "out": "http.response.body.bytes", "ms": "event.duration",
        "address": "client.ip", "error": "error.message", "cause": "error.message", "url": "url.full",
        "worker": "service.node.name",
    ]
    /// Fields that are numbers in the schema, and by what to multiply ours: `event.duration` is in nanoseconds.
    private static let numbers = ["status": 1, "in": 1, "out": 1, "ms": 1_000_000]

    /// - Parameter json: the value as `log.format: json` writes it
    static func field(_ key: String, _ value: Logger.MetadataValue, _ json: JSON) -> (name: String, value: JSON) {
        var name = names[key] ?? "lamplighter.\(key)"
        // Elasticsearch refuses a whole line if `client.ip` holds a network (`2001:db8:0:0::/64`), or the
        // word for a unix socket.
        if name == "client.ip", !AddressRanges.isAddress(value.description) { name = "client.address" }
        guard let factor = numbers[key], let number = Int(value.description),
            case let (product, false) = number.multipliedReportingOverflow(by: factor)
        else { return (name, json) }
        return (name, .integer(product))
    }
}
