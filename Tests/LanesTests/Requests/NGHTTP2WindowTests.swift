import Testing

@testable import Lanes

@Suite struct NGHTTP2WindowTests {
    private func answer(_ window: inout NGHTTP2Window, times: Int, isLate: Bool = false, serverLimit: Int) {
        for _ in 0..<times {
            window.answered(isAuthenticated: true, isLate: isLate, serverLimit: serverLimit)
        }
    }

    @Test func `begins with one request whatever the server allows`() {
        #expect(NGHTTP2Window(maximum: 1_000).size(serverLimit: 1_000) == 1)
    }

    @Test func `each answer opens streams up to the servers limit`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 3, serverLimit: 500)
        #expect(window.size(serverLimit: 500) == 25)
        answer(&window, times: 1_000, serverLimit: 500)
        #expect(window.size(serverLimit: 500) == 500)
    }

    @Test func `our own maximum holds too`() {
        var window = NGHTTP2Window(maximum: 30)
        answer(&window, times: 100, serverLimit: 500)
        #expect(window.size(serverLimit: 500) == 30)
    }

    @Test func `a limit that falls counts at once and one that rises again too`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 1_000, serverLimit: 500)
        #expect(window.size(serverLimit: 1) == 1)
        #expect(window.size(serverLimit: 0) == 0)
        #expect(window.size(serverLimit: 500) == 500)
    }

    @Test func `an answer that our credentials spoilt opens nothing`() {
        var window = NGHTTP2Window(maximum: 1_000)
        window.answered(isAuthenticated: false, isLate: false, serverLimit: 1_000)
        #expect(window.size(serverLimit: 1_000) == 1)
    }

    @Test func `late answers close streams down to a hundred`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 1_000, serverLimit: 1_000)
        answer(&window, times: 10, isLate: true, serverLimit: 400)
        #expect(window.size(serverLimit: 1_000) == 390)
        answer(&window, times: 1_000, isLate: true, serverLimit: 400)
        #expect(window.size(serverLimit: 400) == 100)
    }

    @Test func `late answers open what is smaller, up to a hundred`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 1, isLate: true, serverLimit: 1_000)
        #expect(window.size(serverLimit: 1_000) == 9)
        answer(&window, times: 50, isLate: true, serverLimit: 1_000)
        #expect(window.size(serverLimit: 1_000) == 100)
        answer(&window, times: 1, isLate: false, serverLimit: 1_000)
        #expect(window.size(serverLimit: 1_000) == 108)
        answer(&window, times: 50, isLate: true, serverLimit: 1_000)
        #expect(window.size(serverLimit: 1_000) == 100)
    }

    @Test func `a connection that lives is widened without an answer, up to a hundred`() {
        var window = NGHTTP2Window(maximum: 1_000)
        var hasWidened = window.widen(serverLimit: 1_000)
        #expect(hasWidened && window.size(serverLimit: 1_000) == 9)
        hasWidened = window.widen(serverLimit: 9)
        #expect(!hasWidened)
        for _ in 0..<20 { hasWidened = window.widen(serverLimit: 1_000) }
        #expect(!hasWidened && window.size(serverLimit: 1_000) == 100)
    }

    @Test func `a server that has fallen to one stream is no reason to forget what it took`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 1_000, serverLimit: 1_000)
        answer(&window, times: 10, isLate: true, serverLimit: 1)
        #expect(window.size(serverLimit: 1_000) == 990)
    }

    @Test func `refused streams close streams until the connection is of no use`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 1, serverLimit: 3)
        let isOfUse = (0..<3).map { _ in window.refused(serverLimit: 1_000) }
        #expect(isOfUse == [true, true, false])
        #expect(window.size(serverLimit: 1_000) == 1)
    }

    @Test func `a rested connection begins anew`() {
        var window = NGHTTP2Window(maximum: 1_000)
        answer(&window, times: 100, serverLimit: 1_000)
        window.wasIdle()
        #expect(window.size(serverLimit: 1_000) == 1)
    }
}
