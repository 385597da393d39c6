/// A setting of the gateway, or of the app there.
public struct SettingAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let name: String
    public let value: String?
    public let secret: Bool
    public let source: String
    public let live: Bool

    public init(name: String, value: String?, secret: Bool, source: String, live: Bool) {
        (self.name, self.value, self.secret) = (name, value, secret)
        (self.source, self.live) = (source, live)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SettingAnswer {
        name = try fields("name", \.name)
        value = try fields.optional("value", \.value, "As it was written. Absent: not set, or a secret.")
        secret = try fields("secret", \.secret, "Whether it is set and its value is kept back.")
        source = try fields("source", \.source)
        live = try fields("live", \.live, "Whether a reload changes it.")
    }
}

/// The settings of the gateway that answers.
public struct SettingsAnswer: AnswerBody {
    public static var schemaName: String? { nil }
    public let settings: [SettingAnswer]

    public init(settings: [SettingAnswer]) { self.settings = settings }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == SettingsAnswer {
        try fields.ok()
        settings = try fields("settings", \.settings)
    }
}
