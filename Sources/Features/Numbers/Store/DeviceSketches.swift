public import LiveActivity
import Redis
import StoreGround
import Synchronization

/// How many devices got a push of each app today: a HyperLogLog of each app and day in Redis, and its image in each
/// worker.
///
/// Most devices change nothing in the image once it has seen some ten thousand. So a page costs Redis nothing then, and
/// before that one command for the devices that change it. The image uses Redis's own hash, so that exactly the same
/// devices change Redis's registers too.
public final class DeviceSketches: Sendable {
    /// Devices that wait at most until they are sent, and how long they wait.
    private static let most = 256
    private static let wait: Duration = .seconds(1)

    private let redis: RedisClient
    private let keys: Keyspace
    private let time: ServerTime
    private let images = Mutex<[AppKey: Image]>([:])

    public init(_ store: Store) { (redis, keys, time) = (store.redis, store.keys, store.time) }

    /// The registers that this worker has sent, of one hour: Redis may lose its own, so each hour begins anew.
    private struct Image {
        var hour: Int64
        var registers = HyperLogLog()
        /// By the hour of their push.
        var waiting: [Int64: [RedisArgument]] = [:]
        /// A task sends them after the wait.
        var isAwaited = false
    }

    /// Adds the devices of a page that got a push. It does not wait for Redis.
    public func add(_ app: AppKey, _ page: TokenPage, _ reached: [Int]) {
        let hour = time.now() / Sums.Period.hour.length
        let isFirst = images.withLock { images in
            // Taken out, so that nothing is copied.
            var image = images.removeValue(forKey: app) ?? Image(hour: hour)
            defer { images[app] = image }
            if image.hour != hour { (image.hour, image.registers) = (hour, HyperLogLog()) }
            for index in reached {
                let channel = page.channel(index)
                if image.registers.add(channel) { image.waiting[hour, default: []].append(.bytes(Array(channel))) }
            }
            guard !image.waiting.isEmpty, !image.isAwaited else { return false }
            image.isAwaited = true
            return true
        }
        if isFirst { Task { await send(app) } }
    }

    /// A death in the meantime loses the devices of a second. They count when they get their next push.
    private func send(_ app: AppKey) async {
        let isFull = images.withLock { $0[app]?.waiting.values.contains { $0.count >= Self.most } ?? false }
        if !isFull { try? await Task.sleep(for: Self.wait) }
        while let (hour, devices) = take(app) {
            let key = keys.deviceSketch(app, hour * Sums.Period.hour.length / Sums.Period.day.length)
            do {
                for part in devices.parts(of: 10_000) {
                    try await redis.run([
                        RedisCommand("PFADD", key, Array(part)),
                        RedisCommand("PEXPIRE", key, .int(Sums.Period.day.life)),
                    ])
                }
            } catch {
                // Redis does not answer. The next hour's image has them again, if they get a push then.
                images.withLock { $0[app]?.registers = HyperLogLog() }
            }
        }
    }

    private func take(_ app: AppKey) -> (hour: Int64, devices: [RedisArgument])? {
        images.withLock { images in
            guard let (hour, devices) = images[app]?.waiting.popFirst() else {
                images[app]?.isAwaited = false
                return nil
            }
            return (hour, devices)
        }
    }
}

/// The registers of Redis's HyperLogLog (`hyperloglog.c`): 16,384 of them, the hash MurmurHash64A.
struct HyperLogLog {
    private static let bits = 14
    private var registers = [UInt8](repeating: 0, count: 1 << bits)

    /// - Returns: whether the element raises a register. If not, PFADD would change nothing.
    mutating func add(_ element: ArraySlice<UInt8>) -> Bool {
        let hash = Self.hash(element)
        let index = Int(hash & (1 << Self.bits - 1))
        let rank = UInt8((hash >> Self.bits | 1 << (64 - Self.bits)).trailingZeroBitCount + 1)
        guard rank > registers[index] else { return false }
        registers[index] = rank
        return true
    }

    /// MurmurHash64A with Redis's seed.
    private static func hash(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        let (factor, shift): (UInt64, UInt64) = (0xc6a4_a793_5bd1_e995, 47)
        var hash = 0xadc8_3b19 ^ (UInt64(bytes.count) &* factor)
        func word(_ part: ArraySlice<UInt8>) -> UInt64 { part.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
        var rest = bytes
        while rest.count >= 8 {
            var part = word(rest.prefix(8)) &* factor
            part ^= part >> shift
            hash = (hash ^ (part &* factor)) &* factor
            rest = rest.dropFirst(8)
        }
        if !rest.isEmpty { hash = (hash ^ word(rest)) &* factor }
        hash ^= hash >> shift
        hash = hash &* factor
        return hash ^ hash >> shift
    }
}
