import Glibc
import Testing

@testable import Commands

@Suite(.timeLimit(.minutes(1))) struct SignalsTests {
    /// No other test uses SIGUSR2.
    @Test func `a signal that comes at once is not lost`() async {
        let (told, continuation) = AsyncStream<Int>.makeStream()
        for number in 0..<20 {
            Signals.listen(to: SIGUSR2) { continuation.yield(number) }
            kill(getpid(), SIGUSR2)
            var each = told.makeAsyncIterator()
            #expect(await each.next() == number)
        }
        Signals.ignore(SIGUSR2)
        kill(getpid(), SIGUSR2)
    }
}
