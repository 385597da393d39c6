import Answers
import LiveActivity

/// The field in the head of every page: a push id, a name, a device or a user leads to its page.
enum GoTo {
    /// The page of what somebody typed. A text that fits nothing whole leads to the names that have it as a part, or to
    /// the devices whose ids begin so.
    static func place(_ typed: String, _ visit: Visit) async -> String {
        let text = typed.trimmed
        if PushID(text) != nil, await isThere("/api/push/\(Form.encoded(text))", visit) {
            return "/console/pushes/\(Form.encoded(text))"
        }
        // Blanks at the ends may be of the name.
        for name in typed == text ? [text] : [typed, text]
        where await isThere("/api/activities/\(Form.encoded(name))", visit) { return RoomPage.path(name) }
        let seesDevices = visit.session.identity.mayOpen("/console/devices")
        if seesDevices, let place = await device(text, visit) { return place }
        let names = "/console/names" + Form.query(["contains": text])
        guard seesDevices else { return names }
        let part: ActivitiesAnswer? = try? await visit.find(
            "/api/activities", query: Form.query(["contains": text, "limit": "1"]))
        if part?.activities.isEmpty == false || part?.next != nil { return names }
        let devices: ChannelsAnswer? = try? await visit.find(
            "/api/channels", query: Form.query(["prefix": text, "limit": "1"]))
        return devices?.channels.isEmpty == false ? "/console/devices" + Form.query(["id": text]) : names
    }

    /// A device with that id, or the devices of a user.
    private static func device(_ text: String, _ visit: Visit) async -> String? {
        if await isThere("/api/channels/\(Form.encoded(text))", visit) {
            return "/console/devices/\(Form.encoded(text))"
        }
        let user: UserStoryAnswer? = try? await visit.find("/api/named_users", query: Form.query(["id": text]))
        return user?.namedUser.channels.isEmpty == false ? "/console/devices" + Form.query(["user": text]) : nil
    }

    private static func isThere(_ path: String, _ visit: Visit) async -> Bool {
        await visit.answer("GET", path).status == 200
    }
}
