import Answers
import ArgumentParser

struct ChannelCommand: GatewayCommand {
    static let configuration = CommandConfiguration(
        name: "channel", "Show what a channel (one install of an app) follows, its tags and its user.",
        details: """
            It lists each name with the age of the token, and says if the token waits for a retry, is quarantined, or \
            belongs to the app's other APNs environment. Names that it left, or whose token was pruned, are listed for some \
            hours.
            """,
        examples: "channel 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1", "channel 6a1f2b6e-08c8-4d1e-9e6c-0a9f35c0a7d1 --json")

    @OptionGroup var gateway: GatewayOptions
    @Argument(help: "Id of the channel.") var id: String

    var request: GatewayRequest { .get("/api/channels/\(id)") }
    func lines(_ answer: ChannelStoryAnswer) -> [String] { answer.channel.lines }
}

extension ShownChannelAnswer {
    fileprivate var lines: [String] {
        let groups = listed.tagGroups.sorted { $0.key < $1.key }
            .map { "\($0.key): \($0.value.joined(separator: ", "))" }
        let tags = (listed.tags.isEmpty ? [] : [listed.tags.joined(separator: ", ")]) + groups
        let head = Table(fields: [
            "channel": listed.channelID, "platform": listed.deviceType, "user": listed.namedUserID,
            "tags": tags.isEmpty ? "none" : tags.joined(separator: "; "),
            "created": listed.created, "last seen": listed.lastRegistration,
            "follows": liveActivities.isEmpty ? "nothing" : nil,
        ])
        var table = Table([.text("PLACE"), .text("STATE"), .text("TOKEN", rank: 1), .time("SINCE")])
        let tokens =
            liveActivities.map { ($0.name, $0.held) }
            + startTokens.map { (Self.place(nil, $0.attributesType), $0.held) }
        for (place, token) in tokens {
            let state = token.state + (token.otherEnvironment ? ", other environment" : "")
            table.add(place, state, token.token, token.registeredAt)
        }
        for token in former {
            table.add(Self.place(token.name, token.attributesType), token.state, "", token.at)
        }
        return head.lines + table.lines(Terminal.width)
    }

    private static func place(_ name: String?, _ type: String?) -> String { name ?? "start of \(type ?? "")" }
}
