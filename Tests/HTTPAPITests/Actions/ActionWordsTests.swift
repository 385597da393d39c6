import LiveActivity
import Store
import StrictJSON
import Testing

@testable import HTTPAPI

/// The word that each changing call has in the log of actions. Operators filter the log by these words.
@Suite struct ActionWordsTests {
    static let words = ofCore + ofFeatures.joined()

    private static let ofCore: [(String, String)] = [
        ("POST /api/push", "publish"),
        ("DELETE /api/push/{push_id}", "cancel_push"),
        ("POST /api/schedules", "schedule"),
        ("PUT /api/schedules/{schedule_id}", "replace_schedule"),
        ("DELETE /api/schedules/{schedule_id}", "cancel_schedule"),
        ("POST /api/channels/tags", "tag_channels"),
        ("POST /api/channels/uninstall", "forget_channels"),
        ("POST /api/channels/bulk", "import_channels"),
        ("POST /api/named_users/tags", "tag_users"),
        ("POST /api/named_users/uninstall", "forget_users"),
        ("POST /api/named_users/{user}", "change_user"),
        ("PUT /api/activities/{name}", "describe_name"),
        ("POST /api/activities/{name}/channels", "import_followers"),
        ("DELETE /api/activities/{name}/channels", "remove_followers"),
        ("POST /api/start-tokens/{attributes_type}/channels", "import_followers"),
        ("DELETE /api/start-tokens/{attributes_type}/channels", "remove_followers"),
        ("DELETE /api/dead/{push_id}", "drop_dead"),
        ("POST /api/dead/{push_id}/retry", "retry_dead"),
        ("PUT /api/activities/{name}/broadcast", "create_broadcast"),
        ("DELETE /api/activities/{name}/broadcast", "delete_broadcast"),
        ("POST /api/pause", "pause"),
        ("POST /api/resume", "resume"),
        ("POST /api/quarantine/release", "release_quarantine"),
        ("POST /api/quarantine/discard", "discard_quarantine"),
        ("POST /api/credentials", "create_credential"),
        ("POST /api/credentials/{credential}/rotate", "rotate_credential"),
        ("DELETE /api/credentials/{credential}", "revoke_credential"),
        ("PUT /api/schemas/{attributes_type}", "set_schema"),
        ("DELETE /api/schemas/{attributes_type}", "delete_schema"),
    ]

    @Test(arguments: words)
    func `a call has its word, and the log says what its path names`(_ call: String, _ word: String) throws {
        let parts = call.split(separator: " ")
        let path = parts[1].split(separator: "/").map { $0.hasPrefix("{") ? "/x" : "/\($0)" }.joined()
        let (endpoint, parameters) = try RouteMatch(method: String(parts[0]), path: path[...]).get()
        #expect("\(endpoint.method) \(endpoint.pattern)" == call)
        let kind = try #require(endpoint.action)
        #expect(kind.rawValue == word)
        let caller = Publisher(credential: "master", address: "::1")
        let action = Answer.empty.action(kind, caller, "o", parameters)
        #expect(action.kind == word && action.credential == "master" && action.address == "::1")
        #expect(Array(action.subjects.values) == parameters.map { _ in "x" }, "each parameter is a subject")
    }

    @Test func `no other call is in the log`() {
        let acting = Endpoint.all.filter { $0.action != nil }.map { "\($0.method) \($0.pattern)" }
        #expect(Set(acting) == Set(Self.words.map(\.0)))
        #expect(acting.count == Self.words.count)
    }

    @Test func `a reload is in the log without a call`() async throws {
        try await Self.expect(.reload(on: "machine-2"), "reload", of: "file", on: "machine-2")
    }

    /// An action that is no call is in the log under an id that no credential can have.
    static func expect(_ action: Action, _ word: String, of credential: String, on machine: String) async throws {
        try await GatewayFixture.run { gateway in
            try await gateway.store.actions.add(gateway.app, [action])
            let told = try await ActionTests.actions(gateway, "?action=\(word)")
            try #require(told.count == 1)
            #expect(try told[0].required("credential").string() == credential)
            #expect(try told[0].required("address").string() == machine)
            #expect(UUIDBytes(try told[0].required("operation_id").string()) != nil)
            let body = #"{"id":"\#(credential)","scopes":["read"]}"#
            #expect(try await gateway.send("POST", "/api/credentials", body).status == 400)
        }
    }
}
