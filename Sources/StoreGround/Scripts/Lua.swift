package import Redis

/// The scripts of `Lua/`, embedded at build time. The head of each says which keys and arguments it has.
package enum Lua {
    package static let registrySet = script("registry-set")
    package static let registryJoin = script("registry-join")
    package static let registryRemove = script("registry-remove")
    package static let registryPrune = script("registry-prune")
    package static let registrySize = script("registry-size")
    package static let registrySplit = script("registry-split")
    package static let registryAlive = script("registry-alive")
    package static let registryFollowed = script("registry-followed")
    package static let registryForget = script("registry-forget")
    package static let registryForgotten = script("registry-forgotten")
    package static let registryKnows = script("registry-knows")
    package static let followingDrop = script("following-drop")
    package static let followingTidy = script("following-tidy")
    package static let channelMark = script("channel-mark")
    package static let channelConfirm = script("channel-confirm")
    package static let channelCleared = script("channel-cleared")
    package static let channelForget = script("channel-forget")
    package static let pushAccept = script("push-accept")
    package static let pushChain = script("push-chain")
    package static let pushForget = script("push-forget")
    package static let pushBegin = script("push-begin")
    package static let pushReturn = script("push-return")
    package static let pushSecond = script("push-second")
    package static let pushCancel = script("push-cancel")
    package static let indexPack = script("index-pack")
    package static let indexDrop = script("index-drop")
    package static let receiptCount = script("receipt-count")
    package static let taskClaim = script("task-claim")
    package static let taskPlanned = script("task-planned")
    package static let taskRenew = script("task-renew")
    package static let taskSettle = script("task-settle")
    package static let retryClaim = script("retry-claim")
    package static let retrySettle = script("retry-settle")
    package static let latePut = script("late-put")
    package static let removalConfirm = script("removal-confirm")
    package static let queueDue = script("queue-due")
    package static let deadRetry = script("dead-retry")
    package static let deadCollect = script("dead-collect")
    package static let guardCount = script("guard-count")
    package static let quarantineForget = script("quarantine-forget")
    package static let alarmRaise = script("alarm-raise")
    package static let alarmClear = script("alarm-clear")
    package static let eventAdd = script("event-add")
    package static let broadcastWant = script("broadcast-want")
    package static let broadcastLive = script("broadcast-live")
    package static let broadcastDiscard = script("broadcast-discard")
    package static let broadcastRetire = script("broadcast-retire")
    package static let broadcastGone = script("broadcast-gone")
    package static let broadcastFail = script("broadcast-fail")
    package static let broadcastLease = script("broadcast-lease")
    package static let broadcastIntend = script("broadcast-intend")
    package static let broadcastTake = script("broadcast-take")
    package static let broadcastSettle = script("broadcast-settle")
    package static let broadcastForeign = script("broadcast-foreign")
    package static let queueLook = script("queue-look")
    package static let clockLook = script("clock-look")
    package static let timerHasten = script("timer-hasten")
    package static let queueForget = script("queue-forget")
    package static let scheduleCreate = script("schedule-create")
    package static let scheduleQueue = script("schedule-queue")
    package static let scheduleDue = script("schedule-due")
    package static let scheduleClaim = script("schedule-claim")
    package static let scheduleReplace = script("schedule-replace")
    package static let scheduleSettle = script("schedule-settle")
    package static let appLease = script("app-lease")
    package static let endClaim = script("end-claim")
    package static let providerToken = script("provider-token")
    package static let schemaSet = script("schema-set")
    package static let credentialSet = script("credential-set")
    package static let rateTake = script("rate-take")
    package static let deliveryTurn = script("delivery-turn")
    package static let rightsTry = script("rights-try")
    package static let actionAdd = script("action-add")

    package static let all = Array(scripts.values)

    /// By name. A file `shared-….lua` is a fragment and no script.
    private static let scripts: [String: RedisScript] = {
        let files = LuaFragment.files.filter { !$0.name.hasPrefix("shared-") }
        return Dictionary(uniqueKeysWithValues: files.map { ($0.name, RedisScript(name: $0.name, text: $0.text)) })
    }()

    /// The script in `NAME.lua`.
    package static func script(_ name: String) -> RedisScript {
        guard let script = scripts[name] else { preconditionFailure("there is no script \(name)") }
        return script
    }
}

extension RedisScript {
    /// Reads the lines of the head that declare the call, such as `-- keys n, q: …`, and puts fragments where a line
    /// `-- uses …` names them: before the script if the line is in its head, else behind the line. A call that returns
    /// before the line does not pay for them. Each function of a fragment costs a call as much as a cheap command of
    /// Redis does.
    fileprivate init(name: String, text: String) {
        var (keys, arguments, takesRest, isHead) = ([String](), [String](), false, true)
        var (before, present, body) = ([LuaFragment](), Set<LuaFragment>(), "")
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            body += line + "\n"
            isHead = isHead && line.hasPrefix("--")
            if let names = LuaFragment.used(line) {
                let fragments = LuaFragment.all(names).filter { present.insert($0).inserted }
                if isHead { before += fragments } else { body += fragments.map(\.source).joined() }
            } else if isHead, let end = line.firstIndex(of: ":") {
                let words = line[..<end].split { $0 == " " || $0 == "," }.dropFirst().map(String.init)
                switch words.first {
                case "key", "keys": keys += words.dropFirst()
                case "argument", "arguments": arguments += words.dropFirst()
                case "rest": takesRest = true
                default: break
                }
            }
        }
        self.init(
            name: name, keys: keys, arguments: arguments, takesRest: takesRest,
            library: before.map(\.source).joined(), body: String(body.dropLast()))
    }
}
