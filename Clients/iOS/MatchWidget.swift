// Of the widget extension (docs/ios.md).
import SwiftUI
import WidgetKit

@main
struct MatchWidgets: WidgetBundle {
    var body: some Widget { MatchWidget() }
}

struct MatchWidget: Widget {
    var body: some WidgetConfiguration {
        ActivityConfiguration(for: MatchAttributes.self) { context in
            Text("\(context.state.home) : \(context.state.away)  \(context.state.clock)")
        } dynamicIsland: { context in
            DynamicIsland {
                DynamicIslandExpandedRegion(.center) { Text("\(context.state.home) : \(context.state.away)") }
            } compactLeading: {
                Text("\(context.state.home)")
            } compactTrailing: {
                Text("\(context.state.away)")
            } minimal: {
                Text(context.state.clock)
            }
        }
    }
}
