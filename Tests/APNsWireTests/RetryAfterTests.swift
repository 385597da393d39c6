import Delivery
import Testing

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("0", 0), ("7", 7), (" 30\t", 30), ("3600", 3_600), ("3601", 3_600), ("2147483648", 3_600),
        ("99999999999999999999999999999999999999", 3_600), ("007", 7),
        // These dates are half a minute before now, 23 s after it, and years after it.
        ("Sun, 06 Nov 1994 08:49:07 GMT", 0), ("Sun, 06 Nov 1994 08:50:00 GMT", 23),
        ("Thu, 29 Feb 2024 00:00:00 GMT", 3_600),
        ("", nil), (" ", nil), ("-1", nil), ("+5", nil), ("1.5", nil), ("5s", nil), ("soon", nil),
        ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sunday, 06-Nov-94 08:49:37 GMT", nil),
        ("Sun, 06 Nov 1994 25:49:37 GMT", nil), ("Sun, 06 Nvo 1994 08:49:37 GMT", nil),
    ])
    func `seconds of any size dates and nothing else`(text: String, seconds: Int?) {
        // 1994-11-06 08:49:37 UTC
        #expect(RetryAfter.seconds(text.utf8, now: 784_111_777) == seconds)
    }
}
