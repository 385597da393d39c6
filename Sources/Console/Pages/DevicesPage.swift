import Answers
import LiveActivity
import StrictJSON

/// One device: what it follows, and why it does not get something.
enum DevicesPage {
    /// The search. A channel's id leads to its page, its beginning to all that begin so; the name of a user to that
    /// user's devices.
    static func find(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        if let id = query.text("id") {
            let path = "/console/devices/\(Form.encoded(id))" + Form.query(["name": query.name()])
            // A question about one name is about one device.
            if query.name() != nil { return .redirect(path) }
            let known = await visit.answer("GET", "/api/channels/\(Form.encoded(id))")
            if known.status == 200 { return .redirect(path) }
        }
        let tag = query.text("tag").map(Tag.init)
        let filter: KeyValuePairs = ["prefix": query.text("id"), "tag": tag?.name, "group": tag?.group]
        if query.text("user") == nil,
            let file = try await Export.file(
                visit, "/api/channels", "channels", columns: ListedChannelAnswer.memberNames, filter)
        {
            return file
        }
        var rows: [Values] = []
        var next: String?
        if let user = query.text("user") {
            let found: UserStoryAnswer? = try await visit.find("/api/named_users", query: Form.query(["id": user]))
            rows = found?.namedUser.channels.map { row($0.listed, visit) } ?? []
        } else {
            let page = try await visit.list(
                "/api/channels", \ChannelsAnswer.channels,
                // The API answers a whole address; the page needs where it begins.
                next: { $0.nextPage?.split(separator: "?").last.map { Form($0)["start"] } }, filter, limit: 50,
                as: "start")
            rows = page.rows.map { row($0, visit) }
            next = page.next
        }
        return visit.page(
            "devices", "Devices",
            values([
                "devices": rows, "hasPlatforms": visit.platforms.count > 1 ? true : nil,
                "empty": rows.isEmpty ? true : nil, "isPart": next == nil ? nil : true,
                "wantedUser": query.text("user") ?? "", "wantedTag": query.text("tag") ?? "",
                "wantedID": query.text("id") ?? "",
                "isFiltered": filter.contains { $0.value != nil } || query.text("user") != nil ? true : nil,
                "pager": Pager.values(visit, next: next, keeping: ["id", "tag", "user"], as: "start"),
            ]))
    }

    private static func row(_ channel: ListedChannelAnswer, _ visit: Visit) -> Values {
        let (id, tags) = (channel.channelID, channel.tags)
        return values([
            "id": id, "path": "/console/devices/\(Form.encoded(id))", "user": channel.namedUserID,
            "tags": tags.isEmpty ? nil : tags.prefix(8).joined(separator: ", "),
            "platform": platform(channel) ?? "–",
            "seen": Shown.time(channel.lastRegistration, now: visit.now),
        ])
    }

    /// `iOS`, `Android`. Nil: it is not known.
    private static func platform(_ channel: ListedChannelAnswer?) -> String? {
        channel?.deviceType.flatMap { Platform(name: $0) }.map(Shown.platform)
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("device")
        let path = "/console/devices/\(Form.encoded(id))"
        let wanted = visit.query.name()
        let found: ChannelStoryAnswer? = try await visit.find("/api/channels/\(Form.encoded(id))")
        // A push from yesterday may name a device of which nothing is kept. The question about it has an answer.
        guard found != nil || wanted != nil else {
            throw ConsoleFailure(404, "This device is not known: it never registered, or it is forgotten.")
        }
        let (story, channel) = (found?.channel, found?.channel.listed)
        let names = story?.liveActivities.map { row($0.name, $0.held, isType: false, path, visit) } ?? []
        let types = story?.startTokens.map { row($0.attributesType, $0.held, isType: true, path, visit) } ?? []
        var tags = channel?.tags ?? []
        for (group, list) in (channel?.tagGroups ?? [:]).sorted(by: { $0.key < $1.key }) {
            tags += list.map { "\(group): \($0)" }
        }
        var shown = values([
            "id": id, "path": path, "user": channel?.namedUserID,
            "userPath": channel?.namedUserID.map { "/console/devices" + Form.query(["user": $0]) },
            "tags": tags, "hasTags": tags.isEmpty ? nil : true, "platform": platform(channel),
            "seen": Shown.time(channel?.lastRegistration, now: visit.now),
            "created": Shown.time(channel?.created, now: visit.now),
            "names": names, "hasNames": names.isEmpty ? nil : true, "types": types,
            "hasTypes": types.isEmpty ? nil : true, "wanted": wanted ?? "",
        ])
        let former = (story?.former ?? []).compactMap { entry -> Values? in
            guard let name = entry.name ?? entry.attributesType else { return nil }
            return values(["name": name, "why": path + Form.query(["name": name]), "text": entry.state])
        }
        shown["former"] = former
        shown["hasFormer"] = former.isEmpty ? nil : true
        if let wanted { shown["explained"] = try await explained(visit, wanted, id) }
        shown["links"] = DeviceLink.ofFeatures.filter { visit.session.identity.mayOpen($0.page) }.map { $0.values(id) }
        return visit.page("device", "Device", shown)
    }

    private static func row(
        _ name: String, _ held: HeldToken, isType: Bool, _ path: String, _ visit: Visit
    ) -> Values {
        values([
            "name": name, "namePath": isType ? nil : RoomPage.path(name),
            "why": path + Form.query(["name": name]), "token": held.token, "state": held.state,
            "registered": Shown.time(held.registeredAt, now: visit.now),
            "elsewhere": held.otherEnvironment ? true : nil,
        ])
    }

    /// The reasons why the device would not get the next update of a name.
    static func explained(_ visit: Visit, _ name: String, _ device: String) async throws -> Values {
        let path = "/api/activities/\(Form.encoded(name))/channels/\(Form.encoded(device))"
        let answer: ExplanationAnswer = try await visit.get(path)
        let last = answer.lastPush.map { PushValues(ledger: $0, now: visit.now).row }
        return values([
            "push": false, "name": name, "gets": answer.getsNextUpdate ? true : nil,
            "reasons": answer.reasons.map { Shown.plain($0.text) }, "last": last,
        ])
    }

    static func forget(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("device")
        let sentence =
            "The device \(id) is removed from every name, tag, user and dead letter. Its card stays as it is, and it gets "
            + "nothing any more. It comes back only if its app registers it again."
        let path = "/console/devices/\(Form.encoded(id))"
        if let page = visit.confirmation("Forget this device?", sentence, button: "Forget", back: path) {
            return page
        }
        let answer = try ForgottenAnswer(
            await visit.call(
                "POST", "/api/channels/uninstall", [["channel_id": .string(id), "device_type": "ios"]]))
        return visit.redirect("/console/devices", answer.unknown == nil ? .forgotten : .nothingForgotten)
    }
}

/// A tag as people write it: `gold`, or `group:gold`.
struct Tag: Sendable {
    let name: String
    /// The group of the tag. Nil: the group of tags that devices set.
    let group: String?

    init(_ text: String) {
        let colon = text.firstIndex(of: ":")
        name = colon.map { String(text[text.index(after: $0)...]) } ?? text
        group = colon.map { String(text[..<$0]) }
    }
}

/// A link to a feature's page about a device, for people who may open the page.
struct DeviceLink: Sendable {
    var title: String
    /// The address of the page. The link adds the device's `id` to the query.
    var page: String

    func values(_ device: String) -> Values { ["title": title, "path": page + Form.query(["id": device])] }
}
