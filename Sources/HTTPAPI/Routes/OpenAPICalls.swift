import HTTPTypes
import LiveActivity
import OpenSSL
import StrictJSON

/// The OpenAPI document of all calls.
struct OpenAPICalls: CallGroup {
    init(_ parts: GatewayParts) {}

    func document() async throws -> Answer { Self.answer }

    private static let answer: Answer = {
        do {
            let bytes = try OpenAPIDocument.json(Endpoint.all.map(\.operation)).bytes
            var answer = Answer(200, json: bytes)
            // The same for every caller until the gateway is replaced.
            let tag = "\"\(Hex.encode(SHA256Digest(of: bytes)).prefix(16))\""
            answer.fields = [(.eTag, tag), (.cacheControl, "public, max-age=3600")]
            return answer
        } catch {
            // OpenAPITests makes the document of this very program.
            preconditionFailure("OpenAPI: \(error)")
        }
    }()
}

extension Endpoint {
    /// The facts that the OpenAPI document needs.
    var operation: OpenAPIOperation {
        let body: OpenAPIOperation.Body = self.body == .none ? .none : self.body == .whole ? .whole : .streamed
        return OpenAPIOperation(
            method: method, pattern: pattern, access: access, scopes: scopes, body: body, answerType: answerType,
            answers: answers)
    }
}
