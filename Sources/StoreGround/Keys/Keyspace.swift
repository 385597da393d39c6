package import LiveActivity
package import Redis

/// The names of all keys. docs/keyspace.md lists them with type, life and writer. The part between braces is the hash
/// tag. Keys that one script touches have the same hash tag, so that they are on one node of a cluster.
public struct Keyspace: Sendable {
    public static let defaultPrefix = "ll"
    public static let defaultRetention: Duration = .seconds(7 * 86_400)
    package static let nameSlack = ScriptNumbers.nameSlack
    package let prefix: String
    /// How many slots the streams and the timers of work are spread over. All processes of a deployment must agree.
    package let partitions: Int
    /// How long a push, its ledger and dead letter, its name's sequence number and a finished schedule are kept, ms.
    package let retention: Int64

    package init(prefix: String = defaultPrefix, partitions: Int = 1, retention: Duration = defaultRetention) {
        self.prefix = prefix
        self.partitions = partitions
        self.retention = retention.milliseconds
    }

    /// How long a name is kept, ms: longer than its pushes, so that not every publish prolongs its life.
    package var nameRetention: Int64 { retention + Self.nameSlack.milliseconds }

    package func key(_ rest: String) -> RedisKey { RedisKey("\(prefix):\(rest)") }
    /// A key of a name. A small push has some forty, so each is made at once.
    package func key(_ kind: String, _ tag: String) -> RedisKey {
        var text = ""
        text.reserveCapacity(prefix.utf8.count + kind.utf8.count + tag.utf8.count + 2)
        text += prefix
        text += ":"
        text += kind
        text += ":"
        text += tag
        return RedisKey(text)
    }
    /// The hash tag of a name. Braces and percent signs become `%XX`, so that no name can look like another one.
    package func tag(_ app: AppKey, _ name: ActivityName) -> String { tag(app, .activity(name)) }
    package func tag(_ app: AppKey, _ place: TokenPlace) -> String { "{\(app.rawValue):\(Self.escaped(place.stored))}" }

    static func escaped(_ text: String) -> String {
        text.percentEncoded { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "}") || $0 == UInt8(ascii: "%") }
    }

    /// Name meta. docs/keyspace.md lists its fields.
    package func name(_ tag: String) -> RedisKey { key("n", tag) }
    /// The name's pushes that no sweep has finished, by sequence number.
    package func unswept(_ tag: String) -> RedisKey { key("q", tag) }
    /// One push: record and ledger.
    package func push(_ tag: String, _ id: PushID) -> RedisKey { RedisKey(pushPrefix(tag) + id.description) }
    package func pushPrefix(_ tag: String) -> String { "\(prefix):p:\(tag):" }
    /// The name's kept records of pushes with ids of the same hours.
    package func keptPushes(_ tag: String, _ id: PushID) -> RedisKey {
        key("pk:\(tag):\(id.uuid.time / KeptFlags.block)")
    }
    /// The name's final pushes that are not told yet. Scripts find it beside the pushes.
    package func outbox(_ tag: String) -> RedisKey { RedisKey(pushPrefix(tag) + "outbox") }
    /// The exchanges with APNs for one channel of a push.
    package func trace(_ tag: String, _ id: PushID) -> RedisKey { key("tr:\(tag):\(id)") }
    /// A push's tasks: epoch, owner, deadline and position of each shard; counts of queue entries and removals.
    package func tasks(_ tag: String, _ id: PushID) -> RedisKey { RedisKey(tasksPrefix(tag) + id.description) }
    package func tasksPrefix(_ tag: String) -> String { "\(prefix):w:\(tag):" }
    /// The devices that a push has counted for an event of receipts.
    package func receipts(_ tag: String, _ id: PushID, _ event: ReceiptEvent) -> RedisKey {
        key("rc:\(tag):\(id):\(event.rawValue)")
    }
    /// When users dismissed the name's card (ms), as receipts tell, by a digest of name and channel.
    package func dismissals(_ tag: String) -> RedisKey { key("dm", tag) }
    /// Waiting channels by due time (ms).
    package func waitingChannels(_ tag: String) -> RedisKey { key("r", tag) }
    package func retryQueues(_ tag: String) -> RedisKey { key("h", tag) }
    /// The leases of the name's retries and of its broadcasts.
    package func nameLeases(_ tag: String) -> RedisKey { key("l", tag) }
    /// Channels that registered a token during the sweep of the active push.
    package func catchUp(_ tag: String) -> RedisKey { key("k", tag) }
    /// Channels whose card began after an `end` of the name was accepted, by that time (epoch ms).
    package func newFollowers(_ tag: String) -> RedisKey { key("y", tag) }
    /// The seconds of the newest pushes (`push-second`).
    package func seconds(_ tag: String) -> RedisKey { key("s", tag) }
    /// The newest states by audience.
    package func contentStates(_ tag: String) -> RedisKey { key("v", tag) }
    /// Late joiners, with the last sequence number that they missed.
    package func lateJoiners(_ tag: String) -> RedisKey { key("f", tag) }
    /// Started channels: a start went to them, and they have not registered a token yet.
    package func startedChannels(_ tag: String) -> RedisKey { key("a", tag) }
    /// Channels that are being forgotten, until no worker looks at the name for them any more.
    package func beingForgotten(_ tag: String) -> RedisKey { key("ff", tag) }
    /// Open requests: their pages were settled without their answers.
    package func openRequests(_ tag: String) -> RedisKey { key("z", tag) }
    /// Pending removals: decided, and not yet confirmed by the registry.
    package func pendingRemovals(_ tag: String) -> RedisKey { key("o", tag) }
    /// Bucket 0 of the name's tokens.
    package func root(_ tag: String) -> RedisKey { key("b", tag) }
    /// An app's pushes with ids of one hour since 1970 (`PushIndex`). A cluster has several slices of each hour.
    package func pushIndex(_ app: AppKey, hour: Int64, slice: Int) -> RedisKey {
        key("i:{\(app):\(hour)\(slice == 0 ? "" : ":\(slice)")}")
    }
    /// Blocks of pushes that were in such a set, and how many pushes these blocks have.
    package func pushBlocks(_ app: AppKey, hour: Int64, slice: Int) -> RedisKey {
        key("ib:{\(app):\(hour)\(slice == 0 ? "" : ":\(slice)")}")
    }
    package func packedPushes(_ app: AppKey, hour: Int64, slice: Int) -> RedisKey {
        RedisKey("\(pushBlocks(app, hour: hour, slice: slice)):n")
    }
    package func idempotency(_ app: AppKey, _ id: String) -> RedisKey { key("idem:{\(app):\(Self.escaped(id))}") }
    /// The app's outgoing events, for anybody who may read this Redis.
    package func events(_ app: AppKey) -> RedisKey { key("out:{\(app)}") }
    /// Outgoing events that wait for the one reader that takes them away.
    package func eventQueue(_ app: AppKey) -> RedisKey { key("wh:{\(app)}") }
    /// How many events a full queue lost, and what the reader notes.
    package func eventQueueState(_ app: AppKey) -> RedisKey { key("wh:{\(app)}:state") }
    /// Since when the app (field '') or names of it are paused, epoch ms.
    package func pauses(_ app: AppKey) -> RedisKey { key("pause:{\(app)}") }
    /// How many requests a caller may still make; `digest` is of its credential or its address.
    package func rate(_ digest: String) -> RedisKey { key("rate:{\(digest)}") }
    /// Credentials that were made while the deployment runs, with hashes of their secrets.
    package func credentials(_ app: AppKey) -> RedisKey { key("cred:{\(app)}") }
    /// The maker of each credential, and when it was used last.
    package func credentialUses(_ app: AppKey) -> RedisKey { key("creduse:{\(app)}") }
    /// The log of what callers did with the app's secrets.
    package func actions(_ app: AppKey) -> RedisKey { key("log:{\(app)}") }
    /// When the next tokens of an app, and of one of its pushes, may go out, if there is a cap.
    package func deliveryTurn(_ app: AppKey) -> RedisKey { key("turn:{\(app)}") }
    package func deliveryTurn(_ app: AppKey, _ push: PushID) -> RedisKey { key("turn:{\(app)}:\(push)") }
    /// The same for an account at a platform with a pace of its own, whichever apps send with the account.
    package func deliveryTurn(_ account: PlatformAccount) -> RedisKey {
        key("turn:{\(Self.escaped(account.name))}@\(account.platform.code)")
    }
    package func reservedTurn(_ account: PlatformAccount) -> RedisKey {
        RedisKey("\(deliveryTurn(account)):reserve")
    }
    /// When the next page that has waited long may go ahead of the others.
    package func reservedTurn(_ app: AppKey) -> RedisKey { key("turn:{\(app)}:reserve") }
    package func alarm(_ app: AppKey) -> RedisKey { key("alarm:{\(app)}") }
    /// The provider token that an app's workers share; `id` names the signing key.
    package func providerToken(_ app: AppKey, _ id: String) -> RedisKey { key("jwt:{\(app):\(Self.escaped(id))}") }
    /// The access token that all workers share which send with an account; `id` names the signing key.
    package func accessToken(_ account: PlatformAccount, _ id: String) -> RedisKey {
        key("jwt:{\(Self.escaped(account.name))@\(account.platform.code):\(Self.escaped(id))}")
    }
    /// The hash tag of keys that the whole deployment shares.
    package static let queue = RedisKey("{q}")
    /// The streams and timers of a partition share one slot, because one blocking read of many streams needs that.
    package func stream(_ app: AppKey, _ kind: WorkStream, _ partition: Partition) -> RedisKey {
        key("\(partition.tag):\(app):\(kind.rawValue)")
    }
    /// An app's tasks that wait for their time (ms).
    package func due(_ app: AppKey, _ partition: Partition) -> RedisKey { key("\(partition.tag):\(app):due") }
    /// The processes that live, the newest request to read the configuration again, and the answers to it.
    package var processes: RedisKey { key("{reload}:processes") }
    package var reload: RedisKey { key("{reload}") }
    package func reloadAnswers(_ id: String) -> RedisKey { key("{reload}:\(id)") }
    package func schemas(_ app: AppKey) -> RedisKey { key("schemas:{\(app)}") }
    /// A session of the console; `digest` is of its id.
    package func consoleSession(_ digest: String) -> RedisKey { key("console:s:{\(digest)}") }
    /// Sign-ins that an address has tried for an app key; `digest` is of both.
    package func consoleAttempts(_ digest: String) -> RedisKey { key("console:f:{\(digest)}") }
    /// Pushes that the console's users keep to send again.
    package func consoleTemplates(_ app: AppKey) -> RedisKey { key("console:t:{\(app)}") }
    /// Pushes that a credential's user has begun to write.
    package func consoleDrafts(_ app: AppKey, _ credential: String) -> RedisKey {
        key("console:d:{\(app)}:\(credential)")
    }
    /// The entries of the list of these.
    package func consoleDraftTitles(_ app: AppKey, _ credential: String) -> RedisKey {
        key("console:dt:{\(app)}:\(credential)")
    }
    /// Alarms of which an operator has said that they are known.
    package func consoleKnownAlarms(_ app: AppKey) -> RedisKey { key("console:a:{\(app)}") }
    /// The time at which a publish of the console goes out; `digest` is of its idempotency key.
    package func consoleDue(_ digest: String) -> RedisKey { key("console:p:{\(digest)}") }
    /// An app's schedules that wait, by due time (ms).
    package func at(_ app: AppKey) -> RedisKey { key("{q}:\(app):at") }
    /// The names of these schedules, by id. Only in a cluster, where the node of a schedule's record may be away.
    package func scheduledNames(_ app: AppKey) -> RedisKey { key("{q}:\(app):names") }
    /// A key that a process writes at its start to find out what Redis lets it do (`RightsTrial`).
    package func scratch(_ partition: Partition, _ trial: String, _ type: String) -> RedisKey {
        key("\(partition.tag):try:\(trial):\(type)")
    }
    /// The workers' record of Redis's clock.
    package var clock: RedisKey { key("{q}:clock") }
    /// An app's names by the time at which cards of theirs are to be ended (epoch ms).
    package func ends(_ app: AppKey) -> RedisKey { key("{q}:\(app):end") }
    /// Names that workers have claimed to end cards, with their cutoffs.
    package func claimedEnds(_ app: AppKey) -> RedisKey { key("{q}:\(app):end:h") }
    /// The value of `defaults.end_after` (ms) for which all of the app's names were put into `ends`.
    package func endsAfter(_ app: AppKey) -> RedisKey { key("{q}:\(app):end:after") }
    package func schedule(_ app: AppKey, _ id: PushID) -> RedisKey { key("at:{\(app):\(id)}") }
    /// An app's schedules that were sent, failed or were cancelled, by when (epoch ms).
    package func finishedSchedules(_ app: AppKey) -> RedisKey { key("atf:{\(app)}") }
    /// An app's names with committed work, by the time of the last commit or look. The reconciler reads them.
    package func open(_ app: AppKey, _ partition: Partition) -> RedisKey { key("\(partition.tag):\(app):open") }
}
