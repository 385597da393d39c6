// A stand-in for Apple's declarations: see ActivityKit.swift.
public import Foundation

@MainActor public final class UIApplication {
    public struct LaunchOptionsKey: Hashable, Sendable {}
}

@MainActor public protocol UIApplicationDelegate: NSObjectProtocol {
    func application(
        _ application: UIApplication, didFinishLaunchingWithOptions: [UIApplication.LaunchOptionsKey: Any]?
    ) -> Bool
}
