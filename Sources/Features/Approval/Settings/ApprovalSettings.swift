import HTTPAPI
import Store

extension SettingKey {
    static let approval: [SettingKey] = [
        .choice(\.gateway.approval.rule, "approval.for", ApprovalRule.allCases.map { ($0.rawValue, $0) }, "all")
            .help("which publishes wait for approval, of callers with the scope propose; an app may have its own")
            .of(.gateway).live(.gateway),
        .time(\.gateway.approval.life, "approval.lapse_after", 60...2_592_000, "1h")
            .help("time after which a proposal lapses, from when it was made or was to go out")
            .of(.gateway).live(.gateway),
    ]
}

extension AppField {
    static let approval: [AppField] = [approvalFor]

    public static let approvalFor = AppField(
        "approval.for", "which publishes of the app wait for approval, of callers with the scope propose",
        Rule("one of \(ApprovalRule.allCases.map(\.rawValue).joined(separator: ", "))") {
            ApprovalRule(rawValue: $0) != nil
        }, .gateway, live: always)
}
