import APNsClient
import APNsSimulator
import APNsWire
import Delivery
import Lanes
import LiveActivity
import Testing

extension TransportTests {
    /// Tests what arrives at APNs, field by field and byte by byte. Only the forms of Apple's articles are allowed.
    @Suite struct WireTests {
        private static let bundleID = "com.example.scores"

        /// The fields without `authorization` and `content-length`.
        private func fields(_ request: RawRequest) throws -> [String] {
            let authorization = request.fields.filter { $0.name == "authorization" }.map(\.value)
            #expect(authorization.count == 1)
            let jwt = try #require(authorization.first)
            #expect(jwt.wholeMatch(of: /bearer [\w-]+\.[\w-]+\.[\w-]{86}/) != nil)
            let lengths = request.fields.filter { $0.name == "content-length" }.map(\.value)
            #expect(lengths == (request.body.isEmpty ? [] : ["\(request.body.count)"]))
            // Pseudo-header fields come first, in any order.
            let pseudo = request.fields.prefix { $0.name.hasPrefix(":") }.sorted { $0.name < $1.name }
            return (pseudo + request.fields.dropFirst(pseudo.count))
                .filter { !["authorization", "content-length"].contains($0.name) }.map { "\($0.name): \($0.value)" }
        }

        private func pseudo(_ it: Simulation, _ path: String) -> [String] {
            [":authority: 127.0.0.1:\(it.simulator.port)", ":method: POST", ":path: \(path)", ":scheme: https"]
        }

        static let payload = #"{"aps":{"timestamp":1795284000,"event":"update","content-state":{"odds":1.50}}}"#

        static let pushes: [(PreparedPush, [String])] = [
            (
                PreparedPush(bundleID: bundleID, priority: .high, payload: Array(payload.utf8)),
                ["apns-priority: 10"]
            ),
            (
                PreparedPush(bundleID: bundleID, priority: .low, expiration: 0, payload: Array(payload.utf8)),
                ["apns-priority: 5", "apns-expiration: 0"]
            ),
            (
                PreparedPush(
                    bundleID: bundleID, priority: .high, expiration: 1_795_284_900, collapseID: "match-42",
                    payload: Array(payload.utf8)),
                ["apns-priority: 10", "apns-expiration: 1795284900", "apns-collapse-id: match-42"]
            ),
        ]

        /// There is no `apns-id`, because it would be the only field that differs from token to token.
        /// APNs makes one itself.
        @Test(arguments: TransportKind.allCases)
        func `a device's request`(_ kind: TransportKind) async throws {
            try await Simulation.run(kind) { it in
                for (number, (push, own)) in Self.pushes.enumerated() {
                    let page = Simulation.page(number..<number + 1)
                    #expect(await it.transport.send(page, push) == PageOutcome(accepted: 1))
                    let request = try #require(it.simulator.newest(.device))
                    let found = try fields(request)
                    #expect(
                        found == pseudo(it, "/3/device/\(Hex.encode(Simulation.token(number)))") + [
                            "apns-push-type: liveactivity", "apns-topic: com.example.scores.push-type.liveactivity",
                        ] + own)
                    #expect(String(decoding: request.body, as: UTF8.self) == Self.payload)
                }
                #expect(it.simulator.newest(.broadcast) == nil && it.simulator.newest(.management) == nil)
            }
        }

        /// A channel without storage accepts only the expiration 0. There is no topic, and the id is that of the push.
        @Test func `a broadcasts request`() async throws {
            try await Simulation.run { it in
                let client = try BroadcastClient(
                    .libcurl, configuration: it.client, manageOrigin: try #require(it.simulator.manageURL),
                    bundleID: Self.bundleID, logger: it.logger)
                let id = try #require(PushID("0F8FAD5B-D9CB-469F-A165-70867728950E"))
                let payload = #"{"aps":{"timestamp":1795284000,"event":"end","dismissal-date":0}}"#
                for storage in BroadcastStorage.allCases {
                    let channel = try await client.channels.create(storage)
                    let broadcast = PreparedPush.broadcast(
                        bundleID: Self.bundleID, channel: channel, storage: storage, priority: .low,
                        expiration: 1_795_284_900, requestID: id, payload: Array(payload.utf8))
                    #expect(await client.sender.send(broadcast) == .accepted)
                    let request = try #require(it.simulator.newest(.broadcast))
                    let found = try fields(request)
                    #expect(
                        found == pseudo(it, "/4/broadcasts/apps/com.example.scores") + [
                            "apns-channel-id: \(channel)", "apns-push-type: liveactivity",
                            "apns-expiration: \(storage == .none ? "0" : "1795284900")", "apns-priority: 5",
                            "apns-request-id: 0f8fad5b-d9cb-469f-a165-70867728950e",
                        ])
                    #expect(String(decoding: request.body, as: UTF8.self) == payload)
                }
                await client.sender.close()
            }
        }

        @Test func `the managements requests`() async throws {
            try await Simulation.run { it in
                var management = it.client
                management.origin = try #require(it.simulator.manageURL)
                let channels = try BroadcastChannelManager(configuration: management, bundleID: Self.bundleID)
                let port = try #require(management.origin.split(separator: ":").last)
                func newest() throws -> (fields: [String], body: String) {
                    let request = try #require(it.simulator.newest(.management))
                    return (try fields(request), String(decoding: request.body, as: UTF8.self))
                }
                func pseudo(_ method: String, _ path: String) -> [String] {
                    [
                        ":authority: 127.0.0.1:\(port)", ":method: \(method)", ":path: \(path)", ":scheme: https",
                        "user-agent: lamplighter",
                    ]
                }
                let path = "/1/apps/com.example.scores/channels"

                let channel = try await channels.create(.newest)
                let create = try newest()
                #expect(create.fields == pseudo("POST", path) + ["content-type: application/json"])
                #expect(create.body == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
                _ = try await channels.read(channel)
                let read = try newest()
                #expect(read.fields == pseudo("GET", path) + ["apns-channel-id: \(channel)"] && read.body.isEmpty)
                _ = try await channels.list()
                let list = try newest()
                #expect(list.fields == pseudo("GET", "/1/apps/com.example.scores/all-channels") && list.body.isEmpty)
                try await channels.delete(channel)
                let delete = try newest()
                #expect(delete.fields == pseudo("DELETE", path) + ["apns-channel-id: \(channel)"])
                #expect(delete.body.isEmpty)
            }
        }
    }
}
