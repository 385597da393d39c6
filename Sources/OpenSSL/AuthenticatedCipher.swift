internal import COpenSSL

/// AES-256-GCM (NIST SP 800-38D). One key must never seal two messages under the same number.
public struct AuthenticatedCipher: Sendable {
    public static let keyBytes = 32
    /// The bytes by which a sealed message is longer than the message.
    public static let tagBytes = 16
    private static let nonceBytes = 12

    private let key: [UInt8]

    /// - Parameter key: 32 bytes
    public init(key: some Collection<UInt8>) {
        precondition(key.count == Self.keyBytes, "AES-256 has a key of 32 bytes")
        self.key = Array(key)
    }

    /// - Parameters:
    ///   - number: is the nonce, so it must be another one for each message.
    ///   - context: bytes that are authenticated too, but not part of the result.
    /// - Returns: the encrypted message, and 16 bytes that authenticate it.
    public func seal(_ message: [UInt8], number: UInt64, context: [UInt8]) -> [UInt8] {
        var sealed = [UInt8](repeating: 0, count: message.count + Self.tagBytes)
        let isDone = withCipher(encrypts: true, number, context) { cipher in
            var length: Int32 = 0
            guard EVP_CipherUpdate(cipher, &sealed, &length, message, Int32(message.count)) == 1,
                Int(length) == message.count
            else { return false }
            return sealed.withUnsafeMutableBytes { buffer in
                let tag = UnsafeMutableRawBufferPointer(rebasing: buffer[message.count...])
                let end = tag.assumingMemoryBound(to: UInt8.self).baseAddress
                // GCM writes no bytes at its end.
                return EVP_CipherFinal_ex(cipher, end, &length) == 1
                    && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagBytes), tag.baseAddress) == 1
            }
        }
        precondition(isDone, "AES-256-GCM fails only without memory: \(openSSLMessage())")
        return sealed
    }

    /// - Returns: the message. Nil if key, number or context are others, or if a byte has changed.
    public func open(_ sealed: [UInt8], number: UInt64, context: [UInt8]) -> [UInt8]? {
        guard sealed.count >= Self.tagBytes else { return nil }
        let count = sealed.count - Self.tagBytes
        var message = [UInt8](repeating: 0, count: count + Self.tagBytes)
        var tag = Array(sealed[count...])
        let isGenuine = withCipher(encrypts: false, number, context) { cipher in
            var (length, rest): (Int32, Int32) = (0, 0)
            guard EVP_CipherUpdate(cipher, &message, &length, sealed, Int32(count)) == 1, Int(length) == count,
                EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagBytes), &tag) == 1
            else { return false }
            return EVP_CipherFinal_ex(cipher, &tag, &rest) == 1
        }
        guard isGenuine else {
            _ = openSSLMessage()
            return nil
        }
        message.removeLast(Self.tagBytes)
        return message
    }

    private func withCipher(
        encrypts: Bool, _ number: UInt64, _ context: [UInt8], _ body: (OpaquePointer) -> Bool
    ) -> Bool {
        guard let cipher = EVP_CIPHER_CTX_new() else { return false }
        defer { EVP_CIPHER_CTX_free(cipher) }
        var nonce = [UInt8](repeating: 0, count: Self.nonceBytes - 8)
        withUnsafeBytes(of: number.bigEndian) { nonce.append(contentsOf: $0) }
        var length: Int32 = 0
        return EVP_CipherInit_ex(cipher, EVP_aes_256_gcm(), nil, key, nonce, encrypts ? 1 : 0) == 1
            && EVP_CipherUpdate(cipher, nil, &length, context, Int32(context.count)) == 1 && body(cipher)
    }
}
