enum LogFormat: Sendable {
    /// Text such as `2026-11-21T16:02:03.123Z info worker: message key=value`.
    case text
    /// One JSON object per line.
    case json
    /// The same with the field names of the Elastic Common Schema.
    case ecs
}
