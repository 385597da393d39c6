@testable import Settings

extension ReloadedSettingsTests {
    static let approval: [(AppField, [AppField: String])] = [(.approvalFor, [.approvalFor: "ends"])]
}
