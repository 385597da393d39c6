import Delivery
internal import LiveActivity

/// A page in a transport. Lanes take parts of it and send them in any order, each from its own thread.
final class SharedPage: Sendable {
    let page: TokenPage
    let push: LanePush
    /// Asked before each request.
    let permission: any SendPermission
    let answers: PageAnswers

    init(_ page: TokenPage, _ push: LanePush, _ permission: any SendPermission, _ answers: PageAnswers) {
        self.page = page
        self.push = push
        self.permission = permission
        self.answers = answers
    }

    /// Its tokens had no answer before, or one that says to try again.
    var isRetry: Bool { (page.entries.first?.attempt ?? 0) > 0 }
}
