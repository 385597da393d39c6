/// A device to which a push is sent first.
public struct TestDeviceAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name, channelID: String

    public init(name: String, channelID: String) {
        (self.name, self.channelID) = (name, channelID)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == TestDeviceAnswer {
        name = try fields("name", \.name)
        channelID = try fields("channel_id", \.channelID, .channel)
    }
}

/// The test devices of the app.
public struct TestDevicesAnswer: AnswerBody {
    public let testDevices: [TestDeviceAnswer]

    public init(testDevices: [TestDeviceAnswer]) {
        self.testDevices = testDevices
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == TestDevicesAnswer {
        try fields.ok()
        testDevices = try fields("test_devices", \.testDevices)
    }
}
