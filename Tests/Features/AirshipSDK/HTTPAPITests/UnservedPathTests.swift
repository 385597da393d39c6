import Redis
import Testing

@testable import HTTPAPI
@testable import Store

/// Tests the paths of Airship's published specification. Source: urbanairship/api-specs, go/spec.yaml, 20 August 2026.
@Suite struct UnservedPathTests {
    @Test(arguments: specification.split(separator: "\n").map(String.init))
    func `every path of the specification is served, or says what to use instead`(line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let path = try #require(words.last).replacing(/\{[a-z_]*\}/, with: "6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1")
        for method in words.dropLast() {
            switch RouteMatch(method: method, path: path[...]) {
            case .found(let endpoint, _):
                // The endpoint must have this word in its own path, and not take it as the name of a channel.
                #expect(endpoint.pattern.split(separator: "/").count == path.split(separator: "/").count)
                #expect(served.contains("\(method) \(endpoint.pattern)"), "\(method) \(path): \(endpoint.pattern)")
            case .unserved(let text): #expect(text.hasSuffix("."), "\(method) \(path)")
            case .methodNotAllowed, .notFound, .malformed: Issue.record("\(method) \(path)")
            }
        }
    }

    @Test func `another word of Airship's API stands for no user, and a user's page is not served`() {
        for path in ["associate", "disassociate", "tags", "uninstall"] {
            guard case .methodNotAllowed(["POST"]) = RouteMatch(method: "GET", path: "/api/named_users/\(path)") else {
                Issue.record("\(path) is another call")
                continue
            }
        }
        guard case .unserved = RouteMatch(method: "GET", path: "/api/named_users/ada") else {
            Issue.record("a user's page of Airship")
            return
        }
    }

    @Test func `no endpoint is hidden`() {
        for endpoint in Endpoint.all {
            let path =
                "/" + endpoint.pattern.split(separator: "/").map { $0.first == "{" ? "x" : $0 }.joined(separator: "/")
            guard case .found(let found, _) = RouteMatch(method: endpoint.method, path: path[...]) else {
                Issue.record("\(endpoint.method) \(endpoint.pattern)")
                continue
            }
            #expect(found.pattern == endpoint.pattern)
        }
    }

    @Test(arguments: [
        ("PUT", "/api/channels/attributes", "no attributes"), ("POST", "/api/channels/attributes/", "no attributes"),
        ("POST", "/api/channels/subscription_lists", "no lists"),
        ("PUT", "/api/channels/restricted/email", "iOS and Android"), ("GET", "/api/named_users/u", "?id="),
        ("GET", "/api/segments/", "audience"),
        ("GET", "/api/tags", "/api/channels/tags"), ("POST", "/api/templates/push", "finished text"),
        ("POST", "/api/pipelines", "/api/schedules"), ("GET", "/api/reports/sends", "/api/push/{push_id}"),
        ("GET", "/api/subscription_lists/contacts/x", "no lists"), ("POST", "/warp9/", "no analytics"),
        ("GET", "/api/contacts/associated_types/x", "identify/v2"), ("POST", "/token", "OAuth"),
        ("POST", "/api/schedules/x/pause", "PUT"),
    ])
    func `what is not served is a 404 that says what to use`(method: String, path: String, advice: String) async throws
    {
        try await GatewayFixture.run { gateway in
            let reply = try await gateway.send(method, path, method == "GET" ? nil : "{}")
            #expect(reply.status == 404 && reply.text.contains(advice), "\(reply.text)")
            #expect(try reply.integer("error_code") == 40400)
            let size = try await gateway.store.channels.redis.run([RedisCommand("DBSIZE")])[0]
            #expect(try size.integer() == 0)
        }
    }

    private let served = [
        "POST /api/push", "POST /api/push/validate", "GET /api/schedules", "POST /api/schedules",
        "GET /api/schedules/{schedule_id}", "PUT /api/schedules/{schedule_id}", "DELETE /api/schedules/{schedule_id}",
        "GET /api/channels", "GET /api/channels/{channel}", "POST /api/channels/tags", "POST /api/channels/uninstall",
        "GET /api/named_users", "POST /api/named_users/associate", "POST /api/named_users/disassociate",
        "POST /api/named_users/tags", "POST /api/named_users/uninstall", "POST /api/named_users/{user}",
        "POST /api/contacts/identify/v2",
    ]
}

private let specification = """
    POST /api/attachments
    GET POST /api/attribute-lists
    PUT /api/attribute-lists/{list_name}/csv
    GET /api/attribute-lists/{list_name}/errors
    POST /api/bulk-send
    POST /api/bulk-send/validate
    POST /api/bulk/{platform_name}
    GET /api/channels
    POST /api/channels/attributes
    POST /api/channels/email
    GET /api/channels/email/custom-unsubscribe
    POST /api/channels/email/replace/{channel_id}
    POST /api/channels/email/suppress
    POST /api/channels/email/tags
    POST /api/channels/email/uninstall
    POST /api/channels/email/unsuppress
    GET PUT /api/channels/email/{email}
    POST /api/channels/open
    POST /api/channels/open/tags
    POST /api/channels/open/uninstall
    POST /api/channels/sms
    POST /api/channels/sms/opt-out
    POST /api/channels/sms/tags
    POST /api/channels/sms/uninstall
    PUT /api/channels/sms/{channel_id}
    GET /api/channels/sms/{msisdn}/{sender}
    POST /api/channels/subscription_lists
    POST /api/channels/tags
    POST /api/channels/uninstall
    GET /api/channels/{channel_id}
    POST /api/contacts/associate
    POST /api/contacts/attributes
    POST /api/contacts/disassociate/{contact_id}
    POST /api/contacts/identify/v2
    GET /api/contacts/lookup/channel/{channel_id}
    GET /api/contacts/lookup/named_user/{named_user_id}
    POST /api/contacts/scoped/{contact_id}
    POST /api/contacts/tags/
    GET POST /api/content/templates
    DELETE GET PUT /api/content/templates/external/{type}/{external_id}
    DELETE GET PUT /api/content/templates/{template_id}
    POST /api/create-and-send
    POST /api/create-and-send/validate
    POST /api/custom-events
    GET POST /api/experiments
    GET /api/experiments/scheduled
    DELETE /api/experiments/scheduled/{experiment_id}
    POST /api/experiments/validate
    GET /api/experiments/{experiment_id}
    POST /api/journeys/exit
    POST /api/journeys/trigger
    GET POST /api/lists
    DELETE GET PUT /api/lists/{list_name}
    GET PUT /api/lists/{list_name}/csv
    GET /api/named_users
    POST /api/named_users/associate
    POST /api/named_users/disassociate
    POST /api/named_users/scoped/{named_user_id}
    POST /api/named_users/tags
    POST /api/named_users/uninstall
    POST /api/named_users/{named_user_id}
    POST /api/named_users/{named_user_id}/attributes
    GET POST /api/pipelines
    GET PUT /api/pipelines/constraints
    GET /api/pipelines/deleted
    GET /api/pipelines/filtered
    GET /api/pipelines/limits
    POST /api/pipelines/validate
    DELETE GET PUT /api/pipelines/{pipeline_id}
    POST /api/push
    POST /api/push/validate
    GET /api/regions
    GET /api/regions/{region_id}
    GET /api/reports/activity/details
    GET /api/reports/devices
    GET /api/reports/events
    GET /api/reports/events/summary/pergroup/{group_id}
    GET /api/reports/events/summary/perpush/{push_id}
    GET /api/reports/experiment/detail/{push_id}/{variant_id}
    GET /api/reports/experiment/overview/{push_id}
    GET /api/reports/opens
    GET /api/reports/optins
    GET /api/reports/optouts
    GET /api/reports/pergroup/detail/{group_id}
    GET /api/reports/pergroup/series/{group_id}
    GET /api/reports/perpush/detail/{push_id}
    GET /api/reports/perpush/pushbody/{push_id}
    GET /api/reports/perpush/series/{push_id}
    GET /api/reports/responses
    GET /api/reports/responses/list
    GET /api/reports/responses/{push_id}
    GET /api/reports/sends
    GET /api/reports/timeinapp
    GET /api/reports/web/interaction
    GET POST /api/schedules
    POST /api/schedules/bulk-send
    POST /api/schedules/create-and-send
    DELETE GET PUT /api/schedules/{schedule_id}
    POST /api/schedules/{schedule_id}/pause
    POST /api/schedules/{schedule_id}/resume
    GET POST /api/segments
    DELETE GET PUT /api/segments/{segment_id}
    POST /api/sms/custom-response
    POST /api/sms/{msisdn}/keywords
    GET /api/subscription_lists
    GET /api/subscription_lists/named_users/{named_user_id}
    GET POST /api/tag-lists
    DELETE /api/tag-lists/{list_name}
    PUT /api/tag-lists/{list_name}/csv
    GET /api/tag-lists/{list_name}/errors
    GET POST /api/templates
    POST /api/templates/push
    POST /api/templates/push/validate
    POST /api/templates/schedules
    DELETE GET POST /api/templates/{template_id}
    POST /api/user/messages/batch-delete
    DELETE /api/user/messages/{push_id}
    POST /token
    GET /verify/public_key/{kid}
    """
