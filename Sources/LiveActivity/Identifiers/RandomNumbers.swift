import Glibc
import Synchronization

/// Random numbers of the kernel that nobody can guess. They are fetched 32 at a time, because a call of the kernel
/// costs more than the rest of an id. A number is given once and then wiped, so that memory holds no ids of the past.
///
/// A child made by `fork` would repeat its parent's numbers. Lamplighter never forks, and Swift does not offer it.
enum RandomNumbers {
    private struct Stock {
        var numbers = [UInt64](repeating: 0, count: 32)
        var left = 0
    }

    private static let stock = Mutex(Stock())

    static func next() -> UInt64 {
        stock.withLock { stock in
            if stock.left == 0 {
                // The most that getentropy(3) gives. It never gives less.
                let result = stock.numbers.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
                precondition(result == 0, "the kernel gives no random numbers")
                stock.left = stock.numbers.count
            }
            stock.left -= 1
            defer { stock.numbers[stock.left] = 0 }
            return stock.numbers[stock.left]
        }
    }
}
