import LiveActivity
import Store
import StrictJSON

/// One line of the bulk call that tags channels and gives them named users.
enum ChannelLine {
    /// `{"channel":…,"add"?,"remove"?,"set"?,"named_user_id"?}`. A `named_user_id` of null removes the channel's user.
    static func read(_ bytes: [UInt8]) throws(JSONError) -> ChannelChange {
        let body = try JSONDocument(bytes).root.object(known: ["channel", "add", "remove", "set", "named_user_id"])
        var change = ChannelChange(channel: try body.required("channel").channelID(), tags: try ChannelBody.tags(body))
        guard body.members.count > 1 else { throw body.value.error("must have add, remove, set or named_user_id") }
        if let user = body["named_user_id"] {
            change.namedUser = user.kind == .null ? .removed : .user(try user.text("named_user_id"))
        }
        return change
    }
}
