import Answers
import LiveActivity
import Store
import StrictJSON

/// Test devices by name: a push goes to them before everybody gets it.
struct TestDeviceCalls: CallGroup {
    private static let maximumNameBytes = 64

    private let devices: NamedRecords

    init(_ parts: GatewayParts) { devices = parts.store.testDevices }

    func list(_ call: Call) async throws -> Answer {
        let found = try await devices.all(call.app.key).compactMap { name, channel in
            String(validating: channel, as: UTF8.self).map { TestDeviceAnswer(name: name, channelID: $0) }
        }
        return Answer(200, TestDevicesAnswer(testDevices: found))
    }

    /// Body: `{"channel_id"}`.
    func set(_ call: Call) async throws -> Answer {
        let name = try Self.name(call)
        let channel = try JSONDocument(call.body.collect()).root.object(known: ["channel_id"])
            .required("channel_id").channelID()
        guard try await devices.set(call.app.key, name, Array(channel.description.utf8)) else {
            throw APIError(409, "An app may have \(devices.maximum) test devices: remove one first.")
        }
        return Answer(200, DoneAnswer()).about([.channel: channel.description])
    }

    func delete(_ call: Call) async throws -> Answer {
        guard try await devices.delete(call.app.key, Self.name(call)) else {
            throw APIError(404, "The app has no test device of that name.", code: 40401)
        }
        return .empty
    }

    private static func name(_ call: Call) throws(APIError) -> String {
        try call.identified("test_device") { text throws(IdentifierError) in
            try checkText(text, what: "test device", maximumBytes: maximumNameBytes)
            return text
        }
    }
}
