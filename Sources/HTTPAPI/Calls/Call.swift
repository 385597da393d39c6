import Answers
import HTTPTypes
import LiveActivity
import Store
import StrictJSON

/// One authenticated request, as its handler sees it.
struct Call: Sendable {
    /// The id of the call: the `operation_id` of an error response and the log's `operation`.
    let operation: String
    /// Decoded parameters of the path.
    let parameters: [String: String]
    let query: [String: String]
    let headers: HTTPFields
    /// `http://host:port` as the caller addressed this gateway, used for links. Empty if the request does not tell.
    let origin: String
    let app: GatewayApp
    let tokens: SDKTokens
    let credential: Credential
    /// The caller, for the log of actions and for pushes.
    let caller: Publisher
    let body: IncomingBody
    /// Epoch milliseconds at which the request arrived.
    let now: Int64
    /// Fails once the credential is no longer right. A call without an end asks before each batch.
    var confirm: @Sendable () async throws -> Void = {}

    func parameter(_ name: String) -> String { parameters[name] ?? "" }
    func name() throws(APIError) -> ActivityName { try identified("name", ActivityName.init(_:)) }
    func channel() throws(APIError) -> ChannelID { try identified("channel", ChannelID.init(_:)) }
    func attributesType() throws(APIError) -> String { try identified("attributes_type", checkedAttributesType) }

    func namedUser() throws(APIError) -> String {
        try identified("user") { text throws(IdentifierError) in
            try checkText(text, what: "named user", maximumBytes: AudienceBody.maximumTextBytes)
            return text
        }
    }

    /// Whether the caller's credential is for this name.
    func covers(_ name: ActivityName) -> Bool {
        if case .issued(let grant) = credential { grant.covers(name) } else { true }
    }

    /// Lists are of names that begin so, if the caller's credential is for some only. Nil: it is for all.
    var namePrefix: String? { if case .issued(let grant) = credential { grant.namePrefix } else { nil } }

    /// The prefix of the names of a list: the query's, within the prefix of the caller's credential.
    func listedPrefix() throws(APIError) -> String {
        let asked = query["prefix"] ?? ""
        guard case .issued(let grant) = credential, let own = grant.namePrefix else { return asked }
        if asked.utf8.starts(with: own.utf8) { return asked }
        if own.utf8.starts(with: asked.utf8) { return own }
        throw .otherNames(grant)
    }

    /// Refuses a name that the caller's credential is not for.
    func check(_ name: ActivityName) throws(APIError) {
        guard case .issued(let grant) = credential, !grant.covers(name) else { return }
        throw .otherNames(grant)
    }

    func idempotencyKey() throws(APIError) -> String? {
        guard let key = headers[.idempotencyKey] else { return nil }
        let isPrintable = key.utf8.allSatisfy { (0x20...0x7E).contains($0) }
        if isPrintable, (1...255).contains(key.utf8.count) { return key }
        throw .parameter("Idempotency-Key", "must be 1 to 255 printable ASCII characters")
    }

    /// An `Idempotency-Key` as it is stored. Each credential has keys of its own: with the keys of others it could stop
    /// their pushes. A rotated credential keeps its id. No key that is sent contains U+0001.
    func ownKey(_ key: String) -> String {
        if case .issued(let grant) = credential { "\(grant.id)\u{1}\(key)" } else { key }
    }

    func may(_ right: DeviceRight) -> Bool {
        if case .reporter = credential { return false }
        return !credential.isFromApp || app.deviceRights.contains(right)
    }

    func require(_ right: DeviceRight) throws(APIError) {
        if !may(right) { throw APIError(403, "This was not done: \(right.refusal).", code: 40303) }
    }

    /// Whether the caller may read.
    var mayRead: Bool { if case .issued(let grant) = credential { grant.scopes.contains(.read) } else { true } }

    /// Refuses a call about all names if the caller's credential is for some only.
    func checkAllNames() throws(APIError) {
        guard case .issued(let grant) = credential, grant.namePrefix != nil else { return }
        throw .otherNames(grant)
    }

    /// Where the path's tokens are registered.
    func place() throws(APIError) -> TokenPlace {
        parameters["attributes_type"] == nil ? .activity(try name()) : .startTokens(of: try attributesType())
    }

    /// The id of a push or a schedule, from the path.
    func id(_ name: String) throws(APIError) -> PushID { try id(name, parameter(name)) }

    /// A push id from the query. Nil: absent.
    func queriedID(_ name: String) throws(APIError) -> PushID? {
        if let text = query[name] { try id(name, text) } else { nil }
    }

    private func id(_ name: String, _ text: String) throws(APIError) -> PushID {
        if let id = PushID(text) { return id }
        throw .parameter(name, "must be a UUID")
    }

    /// The query parameter `after` of a page of a stream.
    func entry() throws(APIError) -> String? {
        guard let after = query["after"] else { return nil }
        if StoredEvent.isEntry(after) { return after }
        throw .parameter("after", "must be the `next` of an earlier page")
    }

    /// The object of the body, with no other keys than `keys`. Nil if there is no body.
    func object(known keys: [String]) throws(JSONError) -> JSONObject? {
        let bytes = body.collect()
        return bytes.isEmpty ? nil : try JSONDocument(bytes).root.object(known: keys)
    }

    /// The query parameter `limit` of a list's page.
    func limit() throws(APIError) -> Int { try number("limit", "a whole number", in: 1...1_000, default: 100) }

    /// The address of a list's next page, as Airship's clients follow it.
    func page(_ path: String, start: String, limit: Int) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~".utf8)
        return "\(origin)\(path)?start=\(start.percentEncoded { !plain.contains($0) })&limit=\(limit)"
    }

    /// A query parameter that is a number. `what` says so in the error.
    func number(
        _ name: String, _ what: String, in range: ClosedRange<Int>, default standard: Int
    ) throws(APIError) -> Int {
        guard let text = query[name] else { return standard }
        if let number = Int(text), range.contains(number) { return number }
        throw .parameter(name, "must be \(what) from \(range.lowerBound) to \(range.upperBound)")
    }

    /// A query parameter that is `true` or `false`; nil: absent.
    func flag(_ name: String) throws(APIError) -> Bool? {
        switch query[name] {
        case nil: return nil
        case "true": return true
        case "false": return false
        default: throw .parameter(name, "must be true or false")
        }
    }

    /// The channel that the caller acts for: the SDK's own channel, or the channel that a server names in a header.
    func actingChannel() throws(APIError) -> ChannelID {
        switch credential {
        case .device(let channel), .reporter(let channel), .signed(.some(let channel)), .bound(_, let channel):
            return channel
        case .master, .app, .issued, .signed(.none), .unproven:
            if let channel = headers[.airshipChannel].flatMap({ try? ChannelID($0) }) { return channel }
            throw .parameter("X-UA-Channel-ID", "is required: the channel that the call is for")
        }
    }

    /// A query parameter that is one word, or several between commas.
    func words<Value: Hashable>(
        _ name: String, _ known: [String], _ make: (String) -> Value?
    ) throws(APIError) -> Set<Value> {
        guard let text = query[name] else { return [] }
        var values: Set<Value> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let value = make(String(word)) else {
                throw .parameter(name, "must be of \(known.joined(separator: ", ")), with commas between them")
            }
            values.insert(value)
        }
        return values
    }

    /// A query parameter that is a time: `2026-11-21T18:00:00`, in UTC, or epoch seconds. Returns epoch ms.
    func time(_ name: String) throws(APIError) -> Int64? {
        guard let text = query[name] else { return nil }
        if let seconds = Int64(text), (0...99_999_999_999).contains(seconds) { return seconds * 1_000 }
        if let time = TimeText.parse(text), time >= 0 { return time }
        throw .parameter(name, "must be a time like 2026-11-21T18:00:00 (UTC), or epoch seconds")
    }

    /// - Parameter text: the value. Nil: the path has it.
    func identified<Value>(
        _ name: String, _ make: (String) throws(IdentifierError) -> Value, of text: String? = nil
    ) throws(APIError) -> Value {
        do throws(IdentifierError) {
            return try make(text ?? parameter(name))
        } catch {
            throw .parameter(name, "must be \(error.rule)")
        }
    }
}
