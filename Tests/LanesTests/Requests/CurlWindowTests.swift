import Testing

@testable import Lanes

@Suite struct CurlWindowTests {
    @Test func `begins with one request and is past a thousand within three round trips`() {
        var window = CurlWindow(maximum: 1_000)
        #expect(window.size == 1)
        #expect(window.allows(inFlight: 0) && !window.allows(inFlight: 1))
        for expected in [16, 144, 1_000] {
            for _ in 0..<window.size { window.answered(.accepted) }
            #expect(window.size == expected)
        }
    }

    @Test func `grows to its maximum and no further`() {
        var window = CurlWindow(maximum: 5)
        for _ in 0..<100 { window.answered(.accepted) }
        #expect(window.size == 5)
    }

    @Test func `answers to bad credentials open nothing`() {
        var window = CurlWindow(maximum: 1_000)
        for _ in 0..<50 { window.answered(.unauthenticated) }
        #expect(window.size == 1)
        window.answered(.rejected)
        #expect(window.size == 16, "a dead token's answer proves the credentials")
    }

    @Test func `late answers shrink it and timely ones open it again`() {
        var window = grown(to: 500)
        for _ in 0..<300 { window.answered(.accepted, isLate: true) }
        #expect(window.size == 200)
        for _ in 0..<300 { window.answered(.accepted, isLate: true) }
        #expect(window.size == CurlWindow.leastForLateness)
        window.answered(.accepted)
        #expect(window.size == CurlWindow.leastForLateness + CurlWindow.step)
    }

    @Test func `late answers open what is smaller, up to a hundred`() {
        var window = CurlWindow(maximum: 1_000)
        window.answered(.accepted, isLate: true)
        #expect(window.size == 16)
        for _ in 0..<50 { window.answered(.accepted, isLate: true) }
        #expect(window.size == CurlWindow.leastForLateness)
    }

    @Test func `a connection without an answer is widened up to a hundred, unless it took no more`() {
        var window = CurlWindow(maximum: 1_000)
        var hasWidened = window.widen()
        #expect(hasWidened && window.size == 16)
        for _ in 0..<20 { hasWidened = window.widen() }
        #expect(!hasWidened && window.size == CurlWindow.leastForLateness)
        var full = CurlWindow(maximum: 1_000)
        _ = full.widen()
        full.refused(streams: 1)
        hasWidened = full.widen()
        #expect(!hasWidened && full.size == 1)
        full.answered(.accepted)
        #expect(full.size == 16, "the server allowed one stream until this answer")
    }

    // MARK: The server's limit

    @Test func `settles at what the connection took`() {
        var window = grown(to: 136)
        // 100 requests fit, and the other 36 come back together.
        for _ in 0..<36 { window.refused(streams: 100) }
        #expect(window.size == 100)
    }

    @Test func `looks for more more and more rarely`() {
        var window = grown(to: 136)
        window.refused(streams: 100)
        var gaps: [Int] = []
        while gaps.count < 12 {
            var answers = 0
            while window.size == 100 {
                window.answered(.accepted)
                answers += 1
            }
            gaps.append(answers)
            #expect(window.size == 101, "a look costs one request in vain")
            for _ in 0..<50 { window.answered(.accepted) }
            #expect(window.size == 101, "and is waited for")
            window.refused(streams: 100)
        }
        #expect(gaps == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000, 1_000])
    }

    @Test func `a limit that rises is found and followed fast`() {
        var window = grown(to: 136)
        window.refused(streams: 100)
        for _ in 0..<2 { window.answered(.accepted) }
        window.uses(streams: 100)
        #expect(window.size == 101)
        window.uses(streams: 101)
        window.answered(.accepted)
        #expect(window.size == 101 + CurlWindow.step)
    }

    @Test func `a limit that falls is followed down as the streams end`() {
        var window = grown(to: 500)
        var streams = 500
        while streams > 1 {
            window.answered(.accepted)
            streams -= 1
            window.refused(streams: streams)
            #expect(window.size == streams)
        }
        #expect(window.allows(inFlight: 0) && !window.allows(inFlight: 1))
        for _ in 0..<2 { window.refused(streams: 0) }
        #expect(window.size == 1, "never below one")
    }

    // MARK: One stream after a rejection

    @Test func `a limit met right after a rejection lasts until the next acceptance`() {
        var window = grown(to: 1_000)
        window.answered(.rejected)
        #expect(window.size == 1_000, "not every server does this")
        for _ in 0..<100 { window.refused(streams: 900) }
        #expect(window.size == 1)
        window.answered(.rejected)
        #expect(window.size == 1)
        window.answered(.accepted)
        #expect(window.size == 1_000)
    }

    @Test func `once seen it is expected`() {
        var window = grown(to: 1_000)
        window.answered(.rejected)
        window.refused(streams: 900)
        for _ in 0..<100 {
            window.answered(.accepted)
            #expect(window.size == 1_000)
            window.answered(.rejected)
            #expect(window.size == 1, "nothing is handed over in vain")
        }
    }

    @Test func `a connection that stays full after a rejection is taken at its word`() {
        var window = grown(to: 1_000)
        window.answered(.rejected)
        window.refused(streams: 900)
        window.answered(.accepted)
        // This was not a fall to one stream but the end: after GOAWAY the connection accepts nothing more.
        window.refused(streams: 899)
        #expect(window.size == 899)
    }

    @Test func `begins anew after an idle time`() {
        var window = grown(to: 1_000)
        window.answered(.rejected)
        window.refused(streams: 400)
        window.wasIdle()
        #expect(window.size == 1)
        window.answered(.accepted)
        #expect(window.size == 16)
        window.answered(.rejected)
        #expect(window.size == 1, "the server is the same")
    }

    private func grown(to size: Int) -> CurlWindow {
        var window = CurlWindow(maximum: size)
        while window.size < size { window.answered(.accepted) }
        return window
    }
}
