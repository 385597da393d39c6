import Answers
import ArgumentParser
import HTTPAPI
import LiveActivity
import Store
import StrictJSON

struct CredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        name: "credential", "Make, list, rotate and revoke credentials of the app.",
        details: """
            A credential has an id, some of the rights \(CredentialScope.words), maybe only for names that begin \
            in one way, and maybe an end. Its secret is shown once. A client sends it as the password of HTTP Basic with \
            the app key as the user, or as a Bearer token with the app key in X-UA-Appkey. A new secret is good at \
            once. Every gateway knows of a revocation within a second.
            """,
        examples: "credential create feed --scopes publish,read --name-prefix match- --expires 90d", "credential list",
        "credential rotate feed --keep 24h", "credential revoke feed", "credential hash feed",
        subcommands: [Create.self, List.self, Rotate.self, Revoke.self, Hash.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "Make a credential, and show its secret once.",
            examples: "credential create feed --scopes publish,read --name-prefix match- --expires 90d",
            "credential create backend --scopes track")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the credential, as logs show it.") var id: String
        @Option(help: .value("scopes", "What it may do, with commas: \(CredentialScope.words).")) var scopes: String
        @Option(help: .value("text", "Only for names that begin so, such as match- or match-*.")) var namePrefix:
            String?
        @Option(help: .value("time", "Ends after this time, such as 12h or 90d.")) var expires: Lifetime?

        func run() async throws {
            guard let rights = CredentialScope.scopes(scopes) else {
                throw ValidationError("--scopes must be some of \(CredentialScope.words), with commas between them")
            }
            let body = JSON.fields([
                "id": .string(id), "scopes": .array(rights.words.map(JSON.string)),
                "name_prefix": namePrefix.map(JSON.string), "expires_in": expires.map { .integer($0.seconds) },
            ])
            let request = GatewayRequest.post("/api/credentials", body).changing(lostSecret(of: id))
            try await gateway.call(request) { (made: MadeCredentialAnswer) in made.lines }
        }
    }

    struct Rotate: GatewayCommand {
        static let configuration = CommandConfiguration(
            "Give a credential a new secret. The one before stays valid for a while.",
            examples: "credential rotate feed", "credential rotate feed --keep 0")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the credential.") var id: String
        @Option(help: .value("time", "How long the present secret stays valid, at most 30d (default: 24h)."))
        var keep: Lifetime?

        var request: GatewayRequest {
            .post("/api/credentials/\(id)/rotate", .fields(["keep": keep.map { .integer($0.seconds) }]))
                .changing(lostSecret(of: id))
        }
        func lines(_ made: MadeCredentialAnswer) -> [String] { made.lines }
    }

    struct Revoke: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            "End a credential with all its secrets. On a terminal it asks first.", examples: "credential revoke feed",
            "credential revoke feed --yes")

        @OptionGroup var gateway: GatewayOptions
        @Argument(help: "Id of the credential.") var id: String
        @OptionGroup var asking: Asking

        func run() async throws {
            let question = "Revoke \(id)? Every program that uses it stops at once."
            try await asking.confirm({ question }, kept: "nothing was revoked")
            try await gateway.call(.delete("/api/credentials/\(id)"), done: "revoked \(id)")
        }
    }

    struct List: GatewayCommand {
        static let configuration = CommandConfiguration(
            "List the app's credentials, without secrets.", examples: "credential list", "credential list --json")

        @OptionGroup var gateway: GatewayOptions

        var request: GatewayRequest { .get("/api/credentials") }
        func lines(_ answer: CredentialListAnswer) -> [String] {
            Table.list(
                answer.credentials,
                .text("ID", \.id), .text("SOURCE", rank: 3, \.source),
                .text("SCOPES") { $0.scopes.joined(separator: ",") },
                .text("NAMES") { $0.namePrefix.map { "\($0)*" } ?? "" }, .time("EXPIRES") { $0.expiresAt ?? "" },
                .text("CREATED BY", rank: 4) { $0.createdBy ?? "" },
                .time("LAST USED", rank: 1) { $0.lastUsedAt ?? "" },
                .time("OLD SECRET UNTIL", rank: 2) { $0.oldSecretUntil ?? "" })
        }
    }

    struct Hash: ParsableCommand {
        static let configuration = CommandConfiguration(
            "Make a secret and its hash for the configuration file. Asks no gateway.", examples: "credential hash feed")

        @Argument(help: "Id of the credential.") var id: String
        @Flag(help: "Print results as JSON.") var json = false

        func run() throws {
            guard AppCredential.isID(id), !AppCredential.isTaken(id) else {
                throw ValidationError(
                    "the id must be \(AppCredential.idRule), and none of "
                        + AppCredential.builtInIDs.joined(separator: ", "))
            }
            let secret = SecretHash.newSecret(of: id)
            let hash = SecretHash(of: secret).text
            if json {
                let body: JSON = ["id": .string(id), "secret": .string(secret), "hash": .string(hash)]
                return Terminal.print(json: body.bytes)
            }
            Table(fields: ["secret": secret, "hash": hash]).print()
        }
    }

    /// A time such as `90d`, `12h` or `30` (seconds).
    struct Lifetime: ExpressibleByArgument {
        var seconds: Int64

        init?(argument: String) {
            let text = argument.hasPrefix("+") ? argument : "+" + argument
            guard let seconds = TimeText.epochSeconds(text, now: 0) else { return nil }
            self.seconds = Int64(seconds)
        }
    }
}

/// The remedy if stdout does not take a secret, which is shown once.
private func lostSecret(of id: String) -> String {
    "the credential is made, its secret is lost: lamplighter credential rotate \(id) --keep 0"
}

extension MadeCredentialAnswer {
    fileprivate var lines: [String] {
        Table(fields: [
            "id": credential.id, "scopes": credential.scopes.joined(separator: ","),
            "names": credential.namePrefix.map { "\($0)*" }, "expires": credential.expiresAt,
            "old secret until": credential.oldSecretUntil, "secret": secret,
        ]).lines + ["The secret is not shown again."]
    }
}
