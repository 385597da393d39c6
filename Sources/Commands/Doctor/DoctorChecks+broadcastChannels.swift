import APNsClient
import APNsWire
import Settings

extension DoctorChecks {
    /// Checks the host of broadcast channels and the room for more. Nothing else needs it, so problems are warnings.
    func channels(_ app: AppSettings) async -> [Finding] {
        let subject = "APNs channels \(app.key)"
        guard let origin = app.manageOrigin, let bundleID = app[.bundleID],
            var configuration = try? WorkCommand.configuration(app, settings)
        else { return [] }
        configuration.origin = origin
        do {
            let count = try await BroadcastChannelManager(configuration: configuration, bundleID: bundleID).list().count
            let limit = BroadcastChannelRequest.maximumChannels
            guard count >= limit * 9 / 10 else {
                return [.good(subject, "\(origin) has \(count) of \(Terminal.grouped(limit))")]
            }
            let text = "\(origin) has \(Terminal.grouped(count)) of \(Terminal.grouped(limit))"
            return [.warning(subject, text, "delete those of closed names: lamplighter broadcast list")]
        } catch let error as BroadcastChannelError {
            if error.reason == .featureNotEnabled {
                return [.good(subject, "\(origin) answers; Broadcast Capability is off for \(bundleID)")]
            }
            // An answer says that the address is right.
            let remedy =
                if case .rejected = error {
                    "only broadcast channels need it: look up the reason, a refused key is named above"
                } else {
                    "only broadcast channels need it: check apns.manage_url, and that the firewall lets its port out"
                }
            return [.warning(subject, error.description, remedy)]
        } catch {
            return [.warning(subject, "\(error)", "check apns.manage_url")]
        }
    }
}
