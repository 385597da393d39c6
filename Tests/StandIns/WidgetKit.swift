// A stand-in for Apple's declarations: see ActivityKit.swift. It has what the widget of docs/ios.md needs.
public import ActivityKit
public import SwiftUI

public struct ActivityViewContext<Attributes: ActivityAttributes> {
    public let attributes: Attributes
    public let state: Attributes.ContentState
    public let activityID: String
    public let isStale: Bool
}

public struct ActivityConfiguration<Attributes: ActivityAttributes>: WidgetConfiguration {
    public init<Content: View>(
        for: Attributes.Type, @ViewBuilder content: @escaping (ActivityViewContext<Attributes>) -> Content,
        dynamicIsland: @escaping (ActivityViewContext<Attributes>) -> DynamicIsland
    ) { fatalError() }
}

public struct DynamicIsland {
    public init<Expanded, Leading: View, Trailing: View, Minimal: View>(
        @DynamicIslandExpandedContentBuilder expanded: @escaping () -> DynamicIslandExpandedContent<Expanded>,
        @ViewBuilder compactLeading: @escaping () -> Leading, @ViewBuilder compactTrailing: @escaping () -> Trailing,
        @ViewBuilder minimal: @escaping () -> Minimal
    ) { fatalError() }
}

public struct DynamicIslandExpandedContent<Content> {}

public enum DynamicIslandExpandedRegionPosition { case leading, trailing, center, bottom }

public struct DynamicIslandExpandedRegion<Content: View> {
    public init(_: DynamicIslandExpandedRegionPosition, @ViewBuilder content: @escaping () -> Content) { fatalError() }
}

@resultBuilder public struct DynamicIslandExpandedContentBuilder {
    public static func buildBlock<Content>(
        _: DynamicIslandExpandedRegion<Content>
    ) -> DynamicIslandExpandedContent<Content> { fatalError() }
}
