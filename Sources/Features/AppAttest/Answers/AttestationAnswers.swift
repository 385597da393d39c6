/// A challenge for App Attest.
public struct AttestationChallengeAnswer: AnswerBody {
    public let challenge: String
    public let expiresIn: Int

    public init(challenge: String, expiresIn: Int) {
        (self.challenge, self.expiresIn) = (challenge, expiresIn)
    }

    public init<F: Fields>(_ fields: inout F) throws(F.Failure) where F.Body == AttestationChallengeAnswer {
        try fields.ok()
        challenge = try fields("challenge", \.challenge)
        expiresIn = try fields("expires_in", \.expiresIn, "Milliseconds.")
    }
}
