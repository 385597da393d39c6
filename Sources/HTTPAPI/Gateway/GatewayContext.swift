import Hummingbird
import NIOCore

/// Hummingbird's context of a request, with the connection's channel for deadlines on the body.
struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = CoreRequestContextStorage(source: source)
        channel = source.channel
    }
}
