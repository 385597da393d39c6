/// The actions of callers with a secret, by their words in the log of actions.
public enum ActionKind: String, Sendable, Hashable, CaseIterable {
    case publish, cancelPush = "cancel_push"
    /// A publish or a schedule that waits for approval, and what became of it. No call makes it lapse.
    case propose, approve, reject, lapse
    case schedule, replaceSchedule = "replace_schedule", cancelSchedule = "cancel_schedule"
    case pause, resume
    case retryDead = "retry_dead", dropDead = "drop_dead"
    case releaseQuarantine = "release_quarantine", discardQuarantine = "discard_quarantine"
    case retryEvents = "retry_events", discardEvents = "discard_events"
    case setSchema = "set_schema", deleteSchema = "delete_schema", describeName = "describe_name"
    case setSketch = "set_sketch", deleteSketch = "delete_sketch"
    case setTestDevice = "set_test_device", deleteTestDevice = "delete_test_device"
    case createBroadcast = "create_broadcast", deleteBroadcast = "delete_broadcast"
    case importFollowers = "import_followers", removeFollowers = "remove_followers"
    case importChannels = "import_channels", tagChannels = "tag_channels", forgetChannels = "forget_channels"
    case tagUsers = "tag_users", changeUser = "change_user", forgetUsers = "forget_users"
    case createCredential = "create_credential", rotateCredential = "rotate_credential"
    case revokeCredential = "revoke_credential"
    /// These two are no calls. `lamplighter restore` and reloading gateways add them.
    case restore, reload

    /// Whether programs do it all the time. Frequent actions are summed up, so that they do not push the others out.
    public var isFrequent: Bool {
        switch self {
        case .publish, .schedule, .tagChannels, .tagUsers, .changeUser: true
        default: false
        }
    }
}
