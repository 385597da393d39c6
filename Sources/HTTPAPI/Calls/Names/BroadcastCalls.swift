import APNsWire
import Answers
import LiveActivity
import Store
import StrictJSON

/// The broadcast channels of names. A gateway does not call APNs. It records the wanted state, workers create or delete
/// the channel at APNs, and the caller waits for that as long as it asked to.
struct BroadcastCalls: CallGroup {
    private let broadcasts: Broadcasts
    private let time: ServerTime

    init(_ parts: GatewayParts) { (broadcasts, time) = (parts.store.broadcasts, parts.store.time) }

    /// Body: `{"storage"?: "none" | "newest"}`.
    func create(_ call: Call) async throws -> Answer {
        let name = try call.name()
        guard call.app.platforms.contains(.ios) else {
            throw APIError(409, "Broadcast channels are of iOS, and this app does not send to iOS.", code: 40900)
        }
        let storage = try Self.storage(call)
        let wait = try call.wait()
        let asked = try await broadcasts.want(call.app.key, name, storage, now: time.now())
        guard asked.state != .deleting else {
            throw APIError(
                409, "The name's broadcast channel is being deleted. Try again in 1 s.", code: 40901, retryAfter: 1)
        }
        guard asked.storage == storage else {
            let why = "The name's broadcast channel has storage \(asked.storage.rawValue), and APNs cannot change it."
            throw APIError(409, "\(why) Delete the channel first.", code: 40902)
        }
        let channel = try await poll(call, name, for: wait) { $0?.state != .wanted || $0?.error != nil }
        guard let channel else {
            throw APIError(
                409, "The broadcast channel was deleted before APNs made it. Send the request again.", code: 40901)
        }
        if channel.state == .wanted, let error = channel.error {
            throw APIError(409, "\(error). A worker tries again in the background.", code: 40903)
        }
        return Answer(channel.state == .live ? 200 : 202, channel.answer(name))
    }

    func show(_ call: Call) async throws -> Answer {
        let (app, name) = (call.app.key, try call.name())
        guard let channel = try await broadcasts.channel(app, name) else { throw APIError.noSuchBroadcast }
        return Answer(200, channel.answer(name))
    }

    func delete(_ call: Call) async throws -> Answer {
        let name = try call.name()
        let wait = try call.wait()
        let exists = try await broadcasts.discard(call.app.key, name, now: time.now())
        guard exists else { throw APIError.noSuchBroadcast }
        guard let channel = try await poll(call, name, for: wait, until: { $0 == nil }) else { return .empty }
        return Answer(202, channel.answer(name))
    }

    func list(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let all = try await broadcasts.list(call.app.key)
        let foreign = try await broadcasts.count(call.app.key).foreign
        let after = call.query["after"]
        let page = all.filter { entry in after.map { entry.name.exact > ExactText($0) } ?? true }.prefix(limit)
        let body = BroadcastsAnswer(
            channels: all.count, foreign: foreign, limit: BroadcastChannelRequest.maximumChannels,
            broadcasts: page.map { ListedBroadcastAnswer(name: $0.name.rawValue, channel: $0.id.rawValue) },
            next: page.count == limit ? page.last?.name.rawValue : nil)
        return Answer(200, body)
    }

    /// Reads the channel until `isSettled` is true or `wait` seconds are over, and returns it.
    private func poll(
        _ call: Call, _ name: ActivityName, for wait: Int, until isSettled: (BroadcastChannel?) -> Bool
    ) async throws -> BroadcastChannel? {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(wait)
        while true {
            let channel = try await broadcasts.channel(call.app.key, name)
            if isSettled(channel) || clock.now >= end { return channel }
            // The task was cancelled because the connection closed, so no one reads the response.
            do { try await clock.sleep(for: .milliseconds(200)) } catch { return channel }
        }
    }

    private static func storage(_ call: Call) throws(JSONError) -> BroadcastStorage {
        guard let value = try call.object(known: ["storage"])?["storage"] else { return .none }
        if let storage = BroadcastStorage(rawValue: try value.string()) { return storage }
        throw value.error("must be \"none\" or \"newest\"")
    }
}

extension Call {
    /// The seconds that the caller waits for APNs.
    fileprivate func wait() throws(APIError) -> Int {
        try number("wait", "a whole number of seconds", in: 0...30, default: 10)
    }
}

extension BroadcastChannel {
    var answer: BroadcastChannelAnswer {
        BroadcastChannelAnswer(
            state: state.rawValue, storage: storage.rawValue, channel: id?.rawValue,
            createdAt: createdAt.map(TimeText.text), deleteAt: deleteAt.map(TimeText.text), error: error)
    }

    fileprivate func answer(_ name: ActivityName) -> BroadcastAnswer {
        BroadcastAnswer(name: name.rawValue, broadcast: answer)
    }
}
