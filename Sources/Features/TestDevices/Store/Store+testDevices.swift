extension Store {
    /// Channels of test devices by name.
    public var testDevices: NamedRecords { NamedRecords(redis: redis, key: keys.testDevices, maximum: 50) }
}

extension AppRecord {
    static let testDevice = AppRecord("test_device") { $0.testDevices }
}

extension ActionKind {
    static let testDevices: [ActionKind] = [setTestDevice, deleteTestDevice]

    public static let setTestDevice = ActionKind("set_test_device")
    public static let deleteTestDevice = ActionKind("delete_test_device")
}
