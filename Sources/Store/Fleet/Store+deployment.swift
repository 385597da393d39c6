import LiveActivity
import OpenSSL

extension Store {
    /// Tells this deployment from others: 32 hex digits, the same in each process and for as long as Redis keeps its
    /// data. They say nothing of the hash key of which they are made.
    public func deployment() async throws(StoreError) -> String {
        let key = try await tokens.buckets.hashKey()
        return Hex.encode(SHA256Digest(of: Array("lamplighter deployment".utf8) + key.bytes).prefix(16))
    }
}
