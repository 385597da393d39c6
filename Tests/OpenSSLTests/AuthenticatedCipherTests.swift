import OpenSSL
import Testing

@Suite struct AuthenticatedCipherTests {
    private let cipher = AuthenticatedCipher(key: [UInt8](repeating: 7, count: 32))

    /// Test case 14 of the paper that defines GCM (McGrew and Viega): key, nonce and message of zeros.
    @Test func `a message of zeros is sealed as the standard says`() {
        let zeros = AuthenticatedCipher(key: [UInt8](repeating: 0, count: 32))
        let sealed = zeros.seal([UInt8](repeating: 0, count: 16), number: 0, context: [])
        #expect(
            sealed == [
                0xCE, 0xA7, 0x40, 0x3D, 0x4D, 0x60, 0x6B, 0x6E, 0x07, 0x4E, 0xC5, 0xD3, 0xBA, 0xF3, 0x9D, 0x18, 0xD0,
                0xD1,
                0xC8, 0xA7, 0x99, 0x99, 0x6B, 0xF0, 0x26, 0x5B, 0x98, 0xB5, 0xD4, 0x8A, 0xB9, 0x19,
            ])
    }

    @Test(arguments: [0, 1, 15, 16, 17, 100_000])
    func `a message is opened only with its key, number and context`(count: Int) {
        let message = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = cipher.seal(message, number: 5, context: [1])
        #expect(sealed.count == count + AuthenticatedCipher.tagBytes)
        #expect(cipher.open(sealed, number: 5, context: [1]) == message)
        #expect(cipher.open(sealed, number: 6, context: [1]) == nil)
        #expect(cipher.open(sealed, number: 5, context: [2]) == nil)
        #expect(AuthenticatedCipher(key: [UInt8](repeating: 8, count: 32)).open(sealed, number: 5, context: [1]) == nil)
        for position in Set([0, sealed.count / 2, sealed.count - 1]) {
            var changed = sealed
            changed[position] ^= 1
            #expect(cipher.open(changed, number: 5, context: [1]) == nil)
        }
        #expect(cipher.open(Array(sealed.dropLast()), number: 5, context: [1]) == nil)
    }
}
