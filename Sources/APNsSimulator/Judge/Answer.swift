/// The response to one request.
struct Answer: Sendable {
    var judgement: Judgement
    /// The status of an accepted request.
    var status = 200
    /// The id that the request brought, or a new one.
    var id: MessageID
    /// `apns-channel-id` of a new channel.
    var channelID: String?
    var body: [UInt8] = []
}
