// A stand-in for Apple's declarations: see ActivityKit.swift. It has what the widget of docs/ios.md needs.
@MainActor public protocol View {}

public struct Text: View {
    public init(_: String) { fatalError() }
}

public struct EmptyView: View {
    public init() { fatalError() }
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
