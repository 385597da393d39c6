import Answers
import HTTPTypes
import LiveActivity
import Store
import StrictJSON

/// Channels: what devices and servers say of them, and what is known of them.
struct ChannelCalls: CallGroup {
    private let store: Store
    private let registrations: RegistrationCalls
    private let addresses: AddressBook
    private let cleared: ClearedCards

    init(_ parts: GatewayParts) {
        (store, registrations) = (parts.store, RegistrationCalls(parts))
        (addresses, cleared) = (AddressBook(parts), ClearedCards(parts))
    }

    /// `GET /api/channels`: channels without what they follow, page by page; with `prefix` or `tag` only some.
    func list(_ call: Call) async throws -> Answer {
        let (limit, prefix) = (try call.limit(), call.query["prefix"])
        guard let tag = call.query["tag"] else {
            guard call.query["group"] == nil else { throw APIError.parameter("group", "needs a `tag`") }
            let page = try await store.channels.list(
                call.app.key, after: Self.start(call, ChannelPosition.init), prefix: prefix, limit: limit)
            return Self.page(page.channels, next: page.next.map { "\($0)" }, limit: limit, call)
        }
        let page = try await store.channels.list(
            call.app.key, with: .tag(tag, group: call.query["group"] ?? "device"),
            after: Self.start(call, MemberPosition.init), prefix: prefix, limit: limit)
        return Self.page(page.channels, next: page.next.map { "\($0)" }, limit: limit, call)
    }

    private static func start<Position>(
        _ call: Call, _ position: (String) -> Position?
    ) throws(APIError) -> Position? {
        guard let text = call.query["start"] else { return nil }
        if let position = position(text) { return position }
        throw .parameter("start", "must be that of the `next_page` of an earlier page")
    }

    private static func page(_ channels: [ListedChannel], next: String?, limit: Int, _ call: Call) -> Answer {
        let filter = ["prefix", "tag", "group"].compactMap { name in
            call.query[name].map { "&\(name)=\($0.urlComponent)" }
        }
        let address = next.map { call.page("/api/channels", start: $0, limit: limit) + filter.joined() }
        return Answer(200, ChannelsAnswer(channels: channels.map { $0.answer(call.app.platforms) }, nextPage: address))
    }

    /// A channel in Airship's form, and what it follows.
    func show(_ call: Call) async throws -> Answer {
        let channel = try call.channel()
        guard let story = try await store.story(call.app.key, channel) else {
            throw APIError(404, "This channel is not known: it was never named, or is forgotten.", code: 40401)
        }
        return Answer(
            200, ChannelStoryAnswer(channel: story.answer(channel, call.app.platforms, now: store.time.now())))
    }

    func create(_ call: Call) async throws -> Answer {
        let channel = ChannelID.random()
        var answer = try await register(channel, call, status: 201)
        answer.fields.append((.location, "/api/channels/\(channel)"))
        return answer
    }

    /// Creates a channel that is not known here, because devices keep their ids when an app moves to another server.
    func update(_ call: Call) async throws -> Answer { try await register(call.channel(), call, status: 200) }

    private func register(_ channel: ChannelID, _ call: Call, status: Int) async throws -> Answer {
        var registration = try ChannelBody.registration(call.body.collect())
        var warnings: [String] = []
        // A refusal would leave the device without a channel: the SDK sends tags with each registration.
        if !registration.tags.isEmpty, !call.may(.tags) {
            registration.tags = TagChange()
            warnings.append("the tags stay as they are: \(DeviceRight.tags.refusal)")
        }
        if registration.namedUser != nil, !call.may(.users) {
            registration.namedUser = nil
            warnings.append("the named user stays as it is: \(DeviceRight.users.refusal)")
        }
        try await store.channels.register(
            call.app.key, channel, tags: registration.tags, namedUser: registration.namedUser,
            hasIOS18: registration.hasIOS18)
        if let address = registration.address {
            try await note(address, of: channel, call)
            if let version = address.appVersion { try await cleared.note(version: version, of: channel, call.app) }
        }
        return Answer(
            status, ChannelCreatedAnswer(operationID: call.operation, channelID: channel.description),
            warnings: warnings)
    }

    private func note(_ address: ChannelBody.Address, of channel: ChannelID, _ call: Call) async throws {
        guard address.address != nil else {
            return try await addresses.suspend(
                channel, on: address.platform, isOff: address.isOff, at: call.now, call.app)
        }
        let word = AddressBook.Word(
            channel: channel, address: address.address, showsNotifications: address.showsNotifications, at: call.now)
        _ = try await addresses.note([word], on: address.platform, call.app)
    }

    /// Applies every entry that it can, in order. Each step can be repeated, so a 503 in the middle loses nothing.
    func batch(_ call: Call) async throws -> Answer {
        let channel = try call.channel()
        var batch = try BatchBody(
            call.body.collect(), channel: channel, catchesUp: call.app.catchesUp, platforms: call.app.platforms)
        if !call.may(.tags) {
            batch.refuseTags(DeviceRight.tags.refusal)
        } else if let tags = batch.tags {
            do throws(StoreError) {
                try await store.channels.tag(call.app.key, [channel], tags)
            } catch {
                guard case .tooManyTags(_, let limit) = error else { throw error }
                batch.note(tooManyTags: limit)
            }
        }
        let herd = try await cleared.putBack(batch, of: channel, now: call.now, call.app)
        for update in batch.updates {
            switch update {
            case .set(let place, let registration):
                _ = try await registrations.register(registration, in: place, call.app)
            case .remove(let place, let untrack): try await registrations.unregister([untrack], from: place, call.app)
            case .removeCard(let name, let at, let untrack) where at > herd.kept[name] ?? .min:
                try await registrations.unregister([untrack], from: .activity(name), call.app)
            case .removeCard: break
            }
        }
        try await cleared.end(herd, of: channel, call.app)
        guard let first = batch.problems.first else {
            return Answer(200, BatchResultAnswer(applied: nil, problems: nil, problemCount: nil))
        }
        let result = BatchResultAnswer(
            applied: batch.updates.count, problems: batch.problems.map(\.description),
            problemCount: batch.problemCount)
        // Return a 2xx: only then does the SDK drop the batch. It would repeat the bad entry in every later batch.
        if call.credential.isDevice {
            return Answer(
                200, result,
                warnings: ["entries of the batch were not applied, see `problems`; the first: \(first.description)"])
        }
        var error = APIError(first)
        error.extra = result.membersOfError
        throw error
    }

    func tag(_ call: Call) async throws -> Answer {
        let request = try ChannelBody.tagRequest(call.body.collect())
        try await store.channels.tag(call.app.key, request.channels, request.change)
        return Answer(200, DoneAnswer(), warnings: request.warnings)
    }
}
