import Answers
import ArgumentParser
import HTTPAPI
import LiveActivity
import Settings
import Store
import StrictJSON

extension ProcessFeature {
    static let approval = ProcessFeature(app: { app, served in
        served.approvalRule = app[.approvalFor].flatMap(ApprovalRule.init)
    })
}

struct ApprovalCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "approval", "List, show, approve, reject or withdraw publishes that wait for a second person.",
        details: """
            A publish of a credential with the scope propose waits for the approval of another one with the scope \
            approve. Such a publish is a proposal.
            """,
        examples: "approval list", "approval show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
        subcommands: [List.self, Show.self, Approve.self, Reject.self, Withdraw.self])

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the proposals that wait, the first to lapse first, or those that are over, the latest first.",
            examples: "approval list", "approval list --over", "approval list --mine")

        @OptionGroup var gateway: GatewayOptions
        @Flag(help: "List those that are over, as long as they are kept.") var over = false
        @Flag(help: "List your own, waiting and over.") var mine = false

        var request: GatewayRequest {
            .get("/api/proposals", ["limit": "1000", "state": mine ? "mine" : over ? "over" : nil])
        }
        func lines(_ page: ProposalListAnswer) -> [String] {
            Table.list(
                page.proposals, nothing: "no proposals", .id("PROPOSAL", \.id),
                .time(mine ? "ENDS" : over ? "ENDED" : "LAPSES") { $0.endedAt ?? $0.lapsesAt ?? "" },
                .text("STATE", rank: over || mine ? 0 : 1, \.outcome), .text("ASKED BY", \.askedBy.caller),
                .text("PUBLISH", \.title))
        }
    }

    struct Show: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Show one proposal and its state.", examples: "approval show 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the proposal, as 'publish' printed it.") var id: String

        func check() throws { try checkProposal(id) }

        var request: GatewayRequest { .get("/api/proposals/\(id)") }
        func lines(_ proposal: ProposalAnswer) -> [String] {
            let fields = Table(fields: [
                "proposal": proposal.id, "kind": proposal.kind, "names": proposal.names.joined(separator: ", "),
                "state": proposal.outcome, "asked by": proposal.askedBy.caller, "asked": proposal.askedAt,
                "lapses": proposal.lapsesAt, "request": proposal.state == "waiting" ? proposal.request : nil,
                "decided by": proposal.decidedBy?.caller, "decided": proposal.decidedAt, "over": proposal.endedAt,
            ]).lines
            return fields + ["", proposal.body.text]
        }
    }

    struct Approve: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Approve and publish what another person asked for. It goes out at its time, or at once.",
            details: "'lamplighter approval show ID' prints its request. After an edit it has another one.",
            examples: "approval approve 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 "
                + "--request 5d0a1f3e-6a53-4d6c-9a2b-8f0e1c2d3b4a")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the proposal.") var id: String
        @Option(name: .customLong("request"), help: .value("id", "The request, as you have seen it.")) var seen: String
        @Option(help: .after, transform: AfterPush.argument) var after: AfterPush?

        func check() throws { try checkProposal(id) }

        var request: GatewayRequest {
            .post(
                "/api/proposals/\(id)/approve",
                .fields(["request": .string(seen), "after": after.map { .string("\($0)") }]))
        }
        func lines(_ proposal: ProposalAnswer) -> [String] { ["approved \(proposal.title)"] }
    }

    struct Reject: GatewayCommand, CheckedCommand {
        static let configuration = CommandConfiguration(
            "Reject what another person asked for. Nothing of it is sent.",
            examples: "approval reject 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10",
            "approval reject 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10 --reason 'the score is 3:1'")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the proposal.") var id: String
        @Option(help: .value("text", "Why, for the person who asked.")) var reason: String?

        func check() throws { try checkProposal(id) }

        var request: GatewayRequest {
            .post("/api/proposals/\(id)/reject", reason.map { ["reason": .string($0)] })
        }
        func lines(_ proposal: ProposalAnswer) -> [String] { ["rejected \(proposal.title)"] }
    }

    struct Withdraw: CheckedCommand {
        static let configuration = CommandConfiguration(
            "Withdraw a proposal before anybody decides. Nothing of it is sent.",
            examples: "approval withdraw 0b7c6f0e-0f5e-4c8e-9c55-2b6f3c1d9a10")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the proposal.") var id: String

        func check() throws { try checkProposal(id) }

        func run() async throws { try await gateway.call(.delete("/api/proposals/\(id)")) }
    }
}

extension ProposalAnswer {
    fileprivate var outcome: String { state + (reason.map { ": \($0)" } ?? "") }
    fileprivate var title: String { "\(kind) of \(names.joined(separator: ", "))" }
}

extension CheckedCommand {
    fileprivate func checkProposal(_ id: String) throws {
        try check(id, isIDOf: "proposal", "'lamplighter approval list' lists them")
    }
}
