import Answers
import LiveActivity
import StrictJSON

/// Sends the form as it stands to one test device, through the queue as every push: the push has a ledger, and keeps
/// its exchange with the device's push service. The draft stays.
enum TestSend {
    /// Buttons of one page.
    private static let most = 12

    static func send(_ draft: Draft, to device: String, _ visit: Visit) async throws -> ConsoleResponse {
        var draft = draft
        var form = draft.form
        form["send_at"] = ""
        let compose = ComposeForm(form, now: visit.now)
        do {
            let found: TestDevicesAnswer = try await visit.get("/api/test-devices")
            guard let channel = found.testDevices.first(where: { haveSameBytes($0.name, device) })?.channelID else {
                throw ConsoleFailure(404, "The test device \(device) was removed meanwhile.")
            }
            try await checkPlatform(of: channel, form, visit)
            let push = try compose.push(to: channel, on: visit.platforms)
            let answer = try AcceptedAnswer(await visit.call("POST", "/api/push", push))
            draft.problem = nil
            try await visit.keep(draft)
            return .redirect(
                "/console/compose"
                    + Form.query([
                        "draft": draft.id, "tested": answer.heldID ?? answer.pushIDs.first, "device": channel,
                        "waits": answer.held,
                    ]))
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            draft.problem = await ComposeCheck.problem(error, compose, visit)
            try await visit.keep(draft)
            return .redirect(draft.path())
        }
    }

    /// Refuses a test on a device that the form's platforms leave out: the push would have no target.
    private static func checkPlatform(of channel: String, _ form: Form, _ visit: Visit) async throws {
        guard let chosen = form.text("platforms")?.split(separator: ",").map(String.init) else { return }
        let found: ChannelStoryAnswer? = try await visit.allowed("/api/channels/\(Form.encoded(channel))")
        guard let type = found?.channel.listed.deviceType, !chosen.contains(type) else { return }
        let platform = Platform(name: type).map(Shown.platform) ?? type
        throw ComposeForm.Problem(field: "platforms", message: "leaves out the test device, which is on \(platform)")
    }

    /// For Compose: a button for each test device, and the push that was just sent to one.
    static func markup(_ visit: Visit, name: String) async -> String {
        guard visit.session.identity.mayOpen("/console/test-devices") else { return "" }
        let found: TestDevicesAnswer? = try? await visit.get("/api/test-devices")
        let devices = (found?.testDevices ?? []).prefix(most).map { ["device": $0.name] as Values }
        let tested = visit.query.text("tested").flatMap { PushID($0) }
        let held = HeldPage.of(visit.query.text("waits"))
        let shown = values([
            "devices": devices, "hasDevices": devices.isEmpty ? nil : true,
            "tested": tested.map { held?.path("\($0)") ?? "/console/pushes/\($0)" }, "testWaits": held?.test,
            "why": visit.query.text("device").map { channel in
                "/console/devices/\(Form.encoded(channel))" + Form.query(["name": name])
            },
        ])
        return visit.markup("test-send", shown)
    }
}

extension ComposeForm {
    /// The push for one device alone, with a trace of what its push service says.
    /// - Parameter app: the platforms of the app
    fileprivate func push(to channel: String, on app: Set<Platform>) throws -> JSON {
        let body = try JSONDocument(push(on: app).bytes).root.object()
        var options =
            body.object("options")?.members.filter { !["after", "trace"].contains($0.key) }.map {
                JSON.Member($0.key, JSON($0.value))
            } ?? []
        options.append(JSON.Member("trace", .string(channel)))
        let others = body.members.filter { !["audience", "options"].contains($0.key) }
        return .object(
            others.map { JSON.Member($0.key, JSON($0.value)) } + [
                JSON.Member("audience", ["channel": .string(channel)]), JSON.Member("options", .object(options)),
            ])
    }
}

/// The app's test devices.
enum TestDevicesPage {
    static func show(_ visit: Visit) async throws -> ConsoleResponse {
        let found: TestDevicesAnswer = try await visit.get("/api/test-devices")
        let rows = found.testDevices.map { device in
            ["name": device.name, "id": device.channelID, "path": "/console/devices/\(Form.encoded(device.channelID))"]
                as Values
        }
        return visit.page(
            "test-devices", "Test devices",
            values(["testDevices": rows, "empty": rows.isEmpty ? true : nil, "wanted": visit.query["id"]]))
    }

    static func change(_ visit: Visit) async throws -> ConsoleResponse {
        guard let name = visit.form.text("device_name") else {
            throw ConsoleFailure(422, "A test device needs a name.")
        }
        let path = "/api/test-devices/\(Form.encoded(name))"
        if visit.form["to"] == "remove" {
            try await visit.call("DELETE", path)
            return visit.redirect("/console/test-devices", .testDeviceRemoved)
        }
        try await visit.call("PUT", path, ["channel_id": .string(visit.form.text("channel") ?? "")])
        return visit.redirect("/console/test-devices", .testDeviceKept)
    }
}

extension Route {
    static let testDevices = [
        Route("GET", "/console/test-devices", .publish, forAllNames: true, TestDevicesPage.show),
        Route("POST", "/console/test-devices", .publish, forAllNames: true, TestDevicesPage.change),
    ]
}

extension ComposeFeature {
    static let testDevices = ComposeFeature(
        button: "test_device", press: { device, draft, visit in try await TestSend.send(draft, to: device, visit) },
        markup: { visit, name in await TestSend.markup(visit, name: name) })
}

extension DeviceLink {
    static let testDevices = DeviceLink(title: "Use as a test device", page: "/console/test-devices")
}

extension Notice {
    static let testDevices: [Notice] = [testDeviceKept, testDeviceRemoved]

    static let testDeviceKept = Notice("test-device-kept", "The test device is kept. Compose has a button for it.")
    static let testDeviceRemoved = Notice(
        "test-device-removed", "The test device is removed from the list. What it follows stays.")
}
