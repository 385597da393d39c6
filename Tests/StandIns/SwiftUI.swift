// A stand-in for Apple's declarations: see ActivityKit.swift. It has what the app of docs/ios.md needs.
public import Foundation
public import UIKit

@MainActor public protocol View {}

public struct Text: View {
    public init(_: String) { fatalError() }
}

public struct Button: View {
    public init(_: String, action: @escaping @MainActor () -> Void) { fatalError() }
}

@MainActor public protocol Scene {}

public struct WindowGroup<Content: View>: Scene {
    public init(@ViewBuilder content: () -> Content) { fatalError() }
}

@MainActor public protocol App {
    associatedtype Body: Scene
    var body: Body { get }
    init()
}

extension App {
    public static func main() { fatalError() }
}

@MainActor @propertyWrapper public struct UIApplicationDelegateAdaptor<Delegate: NSObject & UIApplicationDelegate> {
    public init(_: Delegate.Type) { fatalError() }
    public var wrappedValue: Delegate { fatalError() }
}

@resultBuilder public struct ViewBuilder {
    public static func buildBlock<Content: View>(_ content: Content) -> Content { content }
}

@MainActor public protocol WidgetConfiguration {}

@MainActor public protocol Widget {
    associatedtype Body: WidgetConfiguration
    var body: Body { get }
    init()
}

@MainActor public protocol WidgetBundle {
    associatedtype Body: Widget
    var body: Body { get }
    init()
}

extension WidgetBundle {
    public static func main() { fatalError() }
}
