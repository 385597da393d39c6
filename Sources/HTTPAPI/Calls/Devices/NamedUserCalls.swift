import Answers
import LiveActivity
import Store

/// Named users and their channels. Tags lie on channels: a user has the tags of the user's channels.
struct NamedUserCalls: CallGroup {
    /// A user's channels that are read for one answer.
    private static let mostChannels = 100

    private let store: Store

    init(_ parts: GatewayParts) { store = parts.store }

    /// One user with `id=user-7`, in Airship's form, or all users.
    func list(_ call: Call) async throws -> Answer {
        guard let user = call.query["id"] else { return try await listUsers(call) }
        var channels: [ChannelID] = []
        try await store.channels.eachChannel(call.app.key, of: user) { channels += $0 }
        if channels.isEmpty { throw APIError(404, "No channel has this named user.", code: 40402) }
        var stories: [(channel: ChannelID, story: ChannelStory)] = []
        for channel in channels.prefix(Self.mostChannels) {
            if let story = try await store.story(call.app.key, channel) { stories.append((channel, story)) }
        }
        var tags: [ExactText: Set<String>] = [:]
        for record in stories.compactMap(\.story.record) {
            for (group, held) in record.tags { tags[group, default: []].formUnion(held) }
        }
        let now = store.time.now()
        let body = UserAnswer(
            namedUserID: user, channelCount: channels.count, tags: tags.mapValues { $0.sorted() },
            channels: stories.map { $0.story.answer($0.channel, call.app.platforms, now: now) })
        return Answer(200, UserStoryAnswer(namedUser: body))
    }

    /// Users and their tags, page by page.
    private func listUsers(_ call: Call) async throws -> Answer {
        let limit = try call.limit()
        let users = try await store.channels.namedUsers(call.app.key, after: call.query["start"], limit: limit)
        let last = users.count == limit ? users.last : nil
        let body = UsersAnswer(
            namedUsers: users.map(ListedUserAnswer.init),
            nextPage: last.map { call.page("/api/named_users", start: $0, limit: limit) })
        return Answer(200, body)
    }

    /// `POST /api/named_users/{user}`: associates, then disassociates, then tags the channels that the user has then.
    func update(_ call: Call) async throws -> Answer {
        let user = try call.namedUser()
        let update = try NamedUserBody.update(call.body.collect())
        let app = call.app.key
        for channel in update.associate { try await store.channels.associate(app, channel, namedUser: user) }
        for channel in update.disassociate { try await store.channels.disassociate(app, channel, namedUser: user) }
        if let tags = update.tags {
            try await store.channels.eachChannel(app, of: user) { channels throws(StoreError) in
                try await store.channels.tag(app, channels, tags)
            }
        }
        return Answer(200, DoneAnswer(), warnings: update.warnings)
    }

    /// Tags the channels that the users have now.
    func tag(_ call: Call) async throws -> Answer {
        let request = try NamedUserBody.tagRequest(call.body.collect())
        var nobody = 0
        for user in request.users {
            var found = false
            try await store.channels.eachChannel(call.app.key, of: user) { channels throws(StoreError) in
                found = true
                try await store.channels.tag(call.app.key, channels, request.change)
            }
            if !found { nobody += 1 }
        }
        let warning = "\(nobody) of \(request.users.count) named users have no channel, so nothing was tagged for them"
        return Answer(200, DoneAnswer(), warnings: nobody == 0 ? [] : [warning])
    }

    func associate(_ call: Call) async throws -> Answer {
        try call.require(.users)
        let (channel, user) = try ChannelBody.namedUser(call.body.collect(), isRequired: true)
        if let user { try await store.channels.associate(call.app.key, channel, namedUser: user) }
        return Answer(200, DoneAnswer())
    }

    func disassociate(_ call: Call) async throws -> Answer {
        try call.require(.users)
        let request = try ChannelBody.namedUser(call.body.collect(), isRequired: false)
        try await store.channels.disassociate(call.app.key, request.channel, namedUser: request.namedUser)
        return Answer(200, DoneAnswer())
    }
}
