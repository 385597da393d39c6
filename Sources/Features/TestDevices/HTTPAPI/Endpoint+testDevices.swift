import Answers
import Store

extension Endpoint {
    static let testDevices: [Endpoint] = [
        Endpoint("GET", "/api/test-devices", .master, .publish, TestDeviceCalls.list, [.ok(TestDevicesAnswer.self)]),
        Endpoint(
            "PUT", "/api/test-devices/{test_device}", .master, .publish, TestDeviceCalls.set, [.ok(DoneAnswer.self)],
            acts: .setTestDevice),
        Endpoint(
            "DELETE", "/api/test-devices/{test_device}", .master, .publish, TestDeviceCalls.delete, [.empty],
            acts: .deleteTestDevice),
    ]
}

extension Answer {
    /// The device's name, in the path.
    static let testDeviceSubject: (String, Action.Subject) = ("test_device", .entry)
}
