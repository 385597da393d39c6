// Of the app (docs/ios.md).
import Foundation

/// The app's own backend, which knows who is signed in. Put the user's session into the request.
nonisolated struct Backend {
    private struct Answer: Decodable { var token: String }

    func lamplighterToken(for channel: String) async throws -> String {
        var request = URLRequest(url: URL(string: "https://api.example.com/lamplighter-token")!)
        request.httpMethod = "POST"
        request.httpBody = try JSONEncoder().encode(["channel": channel])
        let (body, response) = try await URLSession.shared.data(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw URLError(.badServerResponse) }
        return try JSONDecoder().decode(Answer.self, from: body).token
    }
}
