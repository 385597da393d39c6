import LiveActivity
import StrictJSON

/// One device: what it follows, and why it does not get something.
enum DevicesPage {
    /// The search. A channel's id leads to its page; the name of a user to that user's devices.
    static func find(_ visit: Visit) async throws -> ConsoleResponse {
        let query = visit.query
        if let id = query.text("id") {
            return .redirect("/console/devices/\(Form.encoded(id))" + Form.query(["name": query.text("name")]))
        }
        var rows: [Values] = []
        var next: String?
        if let user = query.text("user") {
            let found = try await visit.find("/api/named_users", query: Form.query(["id": user]))
            rows = found?.object("named_user")?.objects("channels").map { row($0, visit) } ?? []
        } else {
            let page = try await visit.get(
                "/api/channels", query: Form.query(["limit": "50", "start": query.text("start")]))
            rows = page.objects("channels").map { row($0, visit) }
            // The API answers a whole address; the page needs where it begins.
            next = page.text("next_page")?.split(separator: "?").last.map { Form($0)["start"] }
        }
        return visit.page(
            "devices", "Devices",
            values([
                "devices": rows, "empty": rows.isEmpty ? true : nil, "wantedUser": query.text("user") ?? "",
                "pager": Pager.values(visit, next: next, keeping: [], as: "start"),
            ]))
    }

    private static func row(_ channel: JSONObject, _ visit: Visit) -> Values {
        let id = channel.text("channel_id") ?? ""
        let tags = channel.list("tags").compactMap { try? $0.string() }
        return values([
            "id": id, "path": "/console/devices/\(Form.encoded(id))", "user": channel.text("named_user_id"),
            "tags": tags.isEmpty ? nil : tags.prefix(8).joined(separator: ", "),
            "seen": Shown.time(channel.time("last_registration"), now: visit.now),
        ])
    }

    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let id = visit.parameter("device")
        let path = "/console/devices/\(Form.encoded(id))"
        let found = try await visit.get("/api/channels/\(Form.encoded(id))")
        let channel = found.object("channel") ?? found
        let wanted = visit.query.text("name")
        let names = channel.objects("live_activities").map { row(following: $0, "name", path, visit) }
        let types = channel.objects("start_tokens").map { row(following: $0, "attributes_type", path, visit) }
        var tags = channel.list("tags").compactMap { try? $0.string() }
        for (group, list) in channel.object("tag_groups")?.members ?? [] {
            tags += ((try? list.array()) ?? []).compactMap { try? $0.string() }.map { "\(group): \($0)" }
        }
        var shown = values([
            "id": id, "path": path, "user": channel.text("named_user_id"),
            "userPath": channel.text("named_user_id").map { "/console/devices" + Form.query(["user": $0]) },
            "tags": tags, "hasTags": tags.isEmpty ? nil : true,
            "seen": Shown.time(channel.time("last_registration"), now: visit.now),
            "created": Shown.time(channel.time("created"), now: visit.now),
            "names": names, "hasNames": names.isEmpty ? nil : true, "types": types,
            "hasTypes": types.isEmpty ? nil : true, "wanted": wanted ?? "",
        ])
        let former = channel.objects("former").compactMap { entry -> Values? in
            guard let name = entry.text("name") ?? entry.text("attributes_type") else { return nil }
            return values([
                "name": name, "why": path + Form.query(["name": name]),
                "text": entry.text("state") ?? entry.text("reason") ?? "",
            ])
        }
        shown["former"] = former
        shown["hasFormer"] = former.isEmpty ? nil : true
        if let wanted { shown["explained"] = try await explained(visit, wanted, id) }
        return visit.page("device", "Device", shown)
    }

    private static func row(following entry: JSONObject, _ key: String, _ path: String, _ visit: Visit) -> Values {
        let name = entry.text(key) ?? ""
        return values([
            "name": name, "namePath": key == "name" ? "/console/names/\(Form.encoded(name))" : nil,
            "why": path + Form.query(["name": name]), "token": entry.text("token"), "state": entry.text("state"),
            "registered": Shown.time(entry.time("registered_at"), now: visit.now),
            "elsewhere": entry.flag("other_environment") ? true : nil,
        ])
    }

    /// The reasons why the device would not get the next update of a name.
    private static func explained(_ visit: Visit, _ name: String, _ device: String) async throws -> Values {
        let path = "/api/activities/\(Form.encoded(name))/channels/\(Form.encoded(device))"
        let answer = try await visit.get(path)
        let last = answer.object("last_push").map { PushValues(ledger: $0, now: visit.now).row }
        return values([
            "name": name, "gets": answer.flag("gets_next_update") ? true : nil,
            "reasons": answer.objects("reasons").compactMap { $0.text("text").map(Shown.plain) }, "last": last,
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
        try await visit.call(
            "POST", "/api/channels/uninstall", [["channel_id": .string(id), "device_type": "ios"]])
        return visit.redirect("/console/devices", .forgotten)
    }
}
