internal import Threads

public struct HTTPClient: Sendable {
    public init() {}

    /// Runs the exchange on a thread of its own.
    /// - Throws: also when the answer's body is longer than `maximumBody` bytes
    public func send(_ request: HTTPRequest, maximumBody: Int = 16 << 20) async throws(HTTPFailure) -> HTTPResponse {
        let exchange = HTTPExchange(request, maximumBody: maximumBody)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<HTTPResponse, HTTPFailure>, Never>) in
                let started = NamedThread.start("lamp-http") { continuation.resume(returning: exchange.run()) }
                if started { return }
                let failure = HTTPFailure(kind: .other, description: "no thread could be started")
                continuation.resume(returning: .failure(failure))
            }
        } onCancel: {
            exchange.cancel()
        }
        return try result.get()
    }
}
