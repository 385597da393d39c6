// Of the app (docs/ios.md).
import ActivityKit
import Foundation
import LamplighterKit
import SwiftUI
import UIKit

@main
struct MatchApp: App {
    @UIApplicationDelegateAdaptor(AppDelegate.self) private var delegate

    var body: some Scene {
        WindowGroup {
            Button("Follow match-42") { try? follow(match: "match-42") }
        }
    }
}

final class AppDelegate: NSObject, UIApplicationDelegate {
    let lamplighter = Lamplighter(url: URL(string: "https://push.example.com")!, appKey: "shop") { channel in
        .token(try await Backend().lamplighterToken(for: channel))
    }

    func application(
        _: UIApplication, didFinishLaunchingWithOptions _: [UIApplication.LaunchOptionsKey: Any]? = nil
    ) -> Bool {
        lamplighter.follow(MatchAttributes.self, name: \.name)
        return true
    }
}

func follow(match name: String) throws {
    let state = MatchAttributes.ContentState(home: 0, away: 0, clock: "0:00")
    _ = try Activity.request(
        attributes: MatchAttributes(name: name), content: ActivityContent(state: state, staleDate: nil),
        pushType: .token)
}
