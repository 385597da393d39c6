import Foundation
import LiveActivity
import Store
import TestSupport
import Testing

/// A message as an Android device gets it.
struct AndroidMessage {
    let event: String
    let home: Int
    /// Epoch seconds.
    let second: Int
    /// The canonical id.
    let id: String

    init(_ text: String) {
        func value(_ before: String, _ end: Character) -> String {
            text.range(of: before).map { String(text[$0.upperBound...].prefix { $0 != end }) } ?? ""
        }
        event = value(#"\"event\":\""#, "\\")
        home = Int(value(#"\"home\":"#, "}")) ?? -1
        second = Int(value(#"\"timestamp\":"#, ",")) ?? -1
        id = value(#"CANONICAL_PUSH_ID":""#, "\"")
    }
}

extension TestWire {
    /// The messages that an Android device got.
    func messages(_ number: Int) throws -> [AndroidMessage] { try taken(number).map { AndroidMessage($0) } }
}

/// Followers whose address is kept with their channel, and pushes to them.
extension WorkerFixture {
    static let androidContent = PlatformContent(type: "match", contentState: RawJSON(checked: #"{"home":1}"#))

    static func androidChannel(_ number: Int) throws -> ChannelID { try ChannelID("android-\(number)") }

    func follow(android numbers: Range<Int>, hasAddress: Bool = true, isSilent: Bool = false) async throws {
        let at = nowMilliseconds() - 60_000
        if hasAddress {
            let addresses = try numbers.map { number in
                Registration(
                    channel: try Self.androidChannel(number), token: try TestPlatform.fcm.address(number),
                    registeredAt: at, frequentPushesEnabled: isSilent ? false : nil)
            }
            _ = try await store.registry.track(app, .addresses(on: .android), addresses)
        }
        let followers = try numbers.map { number in
            Registration(
                channel: try Self.androidChannel(number), token: .ofChannel(on: .android), registeredAt: at)
        }
        _ = try await store.registry.track(app, .activity(name), followers)
    }

    /// Registers a device again, which has a card or has lost it.
    func tell(_ number: Int, hasCard: Bool, at: Int64 = nowMilliseconds()) async throws {
        let registration = Registration(
            channel: try Self.androidChannel(number),
            token: hasCard ? .ofChannel(on: .android) : .withoutCard(on: .android), registeredAt: at,
            wantsState: !hasCard)
        let results = try await store.registry.track(app, .activity(name), [registration])
        #expect(results == [.stored])
    }

    func publishToAndroid(
        _ event: ActivityEvent = .update, _ android: PlatformContent = Self.androidContent, alone: Bool = false,
        audience: Audience = .all, restarts: Bool = false, alert: Bool = true
    ) async throws -> PushID {
        var publish = Publish(
            name: name, event: event, audience: audience, alert: alert ? RawJSON(checked: #"{"title":"t"}"#) : nil)
        if alone { publish.contents = [:] }
        publish.contents[.android] = android
        publish.attributesType = event == .start ? "Match" : nil
        publish.options.restart = restarts
        let payload = Array(#"{"aps":{"timestamp":0000000000},"label":""}"#.utf8)
        let acceptance = try await store.pushes.accept(
            app, publish, id: .random(), payload: PushContent(payload: payload, contents: publish.contents).stored,
            timestampOffset: 20)
        guard case .accepted(let id, _, _) = acceptance else { throw WorkerFixtureError(description: "\(acceptance)") }
        return id
    }
}
