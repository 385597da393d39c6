/// An attributes type that has a sketch of its card.
public struct ListedSketchAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let attributesType: String

    public init(attributesType: String) {
        self.attributesType = attributesType
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == ListedSketchAnswer {
        attributesType = try fields("attributes_type", \.attributesType)
    }
}

/// The sketches of the app.
public struct SketchesAnswer: AnswerBody {
    public let sketches: [ListedSketchAnswer]

    public init(sketches: [ListedSketchAnswer]) {
        self.sketches = sketches
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SketchesAnswer {
        try fields.ok()
        sketches = try fields("sketches", \.sketches)
    }
}

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
