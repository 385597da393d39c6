/// The actions of callers with a secret, by their words in the log of actions: one row each.
public struct ActionKind: Sendable, Hashable, CustomStringConvertible {
    public let rawValue: String
    /// Whether programs do it all the time. Frequent actions are summed up, so that they do not push the others out.
    public let isFrequent: Bool
    /// Whether it is the word of a call. The log has others, which no call has.
    public let isOfCall: Bool

    init(_ rawValue: String, isFrequent: Bool = false, isOfCall: Bool = true) {
        (self.rawValue, self.isFrequent, self.isOfCall) = (rawValue, isFrequent, isOfCall)
    }

    /// Nil for a word that no action of this version has.
    public init?(rawValue: String) {
        guard let kind = Self.all.first(where: { $0.rawValue == rawValue }) else { return nil }
        self = kind
    }

    public var description: String { rawValue }
}

extension ActionKind {
    /// In the order of the console's choice.
    public static let all: [ActionKind] = ofCore + ofFeatures.joined()

    private static let ofCore: [ActionKind] = [
        publish, cancelPush, schedule, replaceSchedule, cancelSchedule,
        pause, resume, retryDead, dropDead, releaseQuarantine, discardQuarantine,
        setSchema, deleteSchema, describeName, createBroadcast, deleteBroadcast, importFollowers, removeFollowers,
        importChannels, tagChannels,
        forgetChannels, tagUsers, changeUser, forgetUsers, createCredential, rotateCredential,
        revokeCredential, reload,
    ]

    public static let publish = ActionKind("publish", isFrequent: true)
    public static let cancelPush = ActionKind("cancel_push")
    public static let schedule = ActionKind("schedule", isFrequent: true)
    public static let replaceSchedule = ActionKind("replace_schedule")
    public static let cancelSchedule = ActionKind("cancel_schedule")
    public static let pause = ActionKind("pause")
    public static let resume = ActionKind("resume")
    public static let retryDead = ActionKind("retry_dead")
    public static let dropDead = ActionKind("drop_dead")
    public static let releaseQuarantine = ActionKind("release_quarantine")
    public static let discardQuarantine = ActionKind("discard_quarantine")
    public static let setSchema = ActionKind("set_schema")
    public static let deleteSchema = ActionKind("delete_schema")
    public static let describeName = ActionKind("describe_name")
    public static let createBroadcast = ActionKind("create_broadcast")
    public static let deleteBroadcast = ActionKind("delete_broadcast")
    public static let importFollowers = ActionKind("import_followers")
    public static let removeFollowers = ActionKind("remove_followers")
    public static let importChannels = ActionKind("import_channels")
    public static let tagChannels = ActionKind("tag_channels", isFrequent: true)
    public static let forgetChannels = ActionKind("forget_channels")
    public static let tagUsers = ActionKind("tag_users", isFrequent: true)
    public static let changeUser = ActionKind("change_user", isFrequent: true)
    public static let forgetUsers = ActionKind("forget_users")
    public static let createCredential = ActionKind("create_credential")
    public static let rotateCredential = ActionKind("rotate_credential")
    public static let revokeCredential = ActionKind("revoke_credential")
    /// A gateway adds it that reads other secrets or credentials.
    public static let reload = ActionKind("reload", isOfCall: false)
}
