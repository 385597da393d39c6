import LiveActivity
import Store
import StrictJSON

extension ChannelBody {
    /// How many characters of an app's version count.
    private static let versionLength = 64

    /// The address of an Android install. A body without one says that there is none: Airship's SDK tells it each time.
    /// With `opt_in` and `background` false, push is off. Since 20.6.3 the SDK says so of no other install with cards.
    static func address(_ channel: JSONObject) throws(JSONError) -> Address? {
        guard let type = try channel["device_type"].map(deviceType), type != "ios" else { return nil }
        var address = Address(platform: .android)
        address.showsNotifications = try channel["opt_in"]?.bool()
        if let version = channel["app_version"], version.kind == .string {
            address.appVersion = String(try version.string().prefix(Self.versionLength))
        }
        let service = try channel["android"]?.object()["delivery_type"]?.string() ?? "fcm"
        let text = channel["push_address"].flatMap { $0.kind == .null ? nil : $0 }
        if type == "android", service == "fcm" { address.address = try text?.androidAddress(.token) }
        let hasBackground = try channel["background"]?.bool() ?? true
        address.isOff = text == nil && address.showsNotifications == false && !hasBackground
        return address
    }
}

extension BatchBody {
    /// An Android app's card began (`set`) or is over (`remove`). The channel has the address.
    static func liveUpdate(
        _ value: JSONValue, channel: ChannelID, _ catchesUp: Bool, _ platforms: Set<Platform>
    ) throws(JSONError) -> Update {
        guard platforms.contains(.android) else { throw value.unsent(to: "Android") }
        let entry = try value.object()
        let name = try entry.required("name").activityName()
        let action = try entry.required("action_ts_ms").epochMilliseconds()
        let started = try entry["start_ts_ms"]?.startMilliseconds(after: action, "action_ts_ms")
        // The start is a time of ours if a push began the card. The phone's clock may be behind it.
        let at = max(action, started ?? action)
        guard try self.action(entry) == "set" else {
            return .removeCard(name, at: action, Untrack(channel: channel, removedAt: at))
        }
        return .set(
            .activity(name),
            Registration(
                channel: channel, token: .ofChannel(on: .android), registeredAt: at, startedAt: started,
                wantsState: catchesUp))
    }
}

extension JSONValue {
    func androidAddress(_ kind: AndroidAddress.Kind) throws(JSONError) -> PushToken {
        PushToken(try identifier { text throws(IdentifierError) in try AndroidAddress(kind, text) })
    }
}
