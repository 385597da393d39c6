import APNsClient
import APNsWire
import LiveActivity
import Settings
import StrictJSON

/// The state of a broadcast channel as APNs itself reports it. Others who have the key may have deleted it.
enum BroadcastChannelAtAPNs {
    case kept(BroadcastStorage)
    case failed(BroadcastChannelError)

    init(_ channel: String, _ app: AppSettings, _ settings: Settings) async throws {
        guard let origin = app.manageOrigin else {
            throw CommandFailure(.configuration, "apns.url is not Apple's, so apns.manage_url must be set too")
        }
        var configuration = try WorkCommand.configuration(app, settings)
        configuration.origin = origin
        let id = try BroadcastChannelID(channel)
        let channels = try BroadcastChannelManager(configuration: configuration, bundleID: try app.required(.bundleID))
        do throws(BroadcastChannelError) {
            self = .kept(try await channels.read(id))
        } catch {
            self = .failed(error)
        }
    }

    var text: String {
        switch self {
        case .kept(let storage): "storage \(storage.rawValue)"
        case .failed(let error): error.description
        }
    }

    var json: JSON {
        switch self {
        case .kept(let storage): ["storage": .string(storage.rawValue)]
        case .failed(let error): ["error": .string(error.description)]
        }
    }
}
