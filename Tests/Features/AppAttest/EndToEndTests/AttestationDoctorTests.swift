import TestSupport
import Testing

struct AttestationDoctorTests {
    @Test func `doctor says that a team id is none of Apple's`() async throws {
        let deployment = try await Deployment.start()
        let checked = try await deployment.run("doctor", environment: ["LAMPLIGHTER_APP_ATTESTATION_TEAM_ID": "abc"])
        #expect(checked.out.contains(/! app shop +attestation\.team_id 'abc' is no team id of Apple/), "\(checked)")
    }
}
