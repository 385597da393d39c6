// The calls of a backend, for Node 18 or later without packages.
//
//     const lamplighter = new Lamplighter({ url, appKey, appSecret, masterSecret })
//     const token = await lamplighter.token(channel)
//     await lamplighter.publish("match-42", { home: 1, away: 0, clock: "12:00" }, "match-42/7")
//     await lamplighter.end("match-42", { home: 1, away: 0, clock: "12:00" }, "match-42/end")
import { pathToFileURL } from "node:url"

/** The gateway refused a call, or did not answer it (status 0). */
export class LamplighterError extends Error {
    constructor(status, text) {
        super(`${status} ${text}`)
        this.status = status
    }
}

const basic = (user, secret) => "Basic " + Buffer.from(`${user}:${secret}`).toString("base64")

export class Lamplighter {
    constructor({ url, appKey, appSecret, masterSecret, attempts = 6 }) {
        this.url = url.replace(/\/+$/, "")
        this.app = basic(appKey, appSecret)
        this.master = basic(appKey, masterSecret)
        this.attempts = attempts
    }

    /** The token that the app of this channel asks for. Check first that the channel is the caller's. */
    async token(channel) {
        return (await this.#call("GET", "/api/auth/device?only=reports", this.app, { "X-UA-Channel-ID": channel })).token
    }

    /**
     * Sends a content state to everybody who follows the name, and returns the push id.
     * `key` names this publish: a repetition with the same key is sent once.
     */
    async publish(name, contentState, key, event = "update") {
        const activity = { name, event, content_state: contentState }
        const push = { audience: "all", device_types: ["ios"], notification: { ios: { live_activity: activity } } }
        return (await this.#call("POST", "/api/push", this.master, { "Idempotency-Key": key }, push)).push_ids[0]
    }

    end(name, contentState, key) {
        return this.publish(name, contentState, key, "end")
    }

    async #call(method, path, authorization, headers, body) {
        let failure
        for (let attempt = 0; attempt < this.attempts; attempt++) {
            let asked = 0
            try {
                const answer = await fetch(this.url + path, {
                    method,
                    headers: { Authorization: authorization, "Content-Type": "application/json", ...headers },
                    body: body && JSON.stringify(body),
                    signal: AbortSignal.timeout(30_000),
                })
                if (answer.ok) return await answer.json()
                failure = new LamplighterError(answer.status, await answer.text())
                if (answer.status < 500 && ![408, 429].includes(answer.status)) break
                asked = Number(answer.headers.get("Retry-After")) || 0
            } catch (error) {
                failure = new LamplighterError(0, String(error.cause ?? error))
            }
            if (attempt + 1 < this.attempts) {
                const pause = Math.max(asked, (0.5 + Math.random() / 2) * 2 ** attempt)
                await new Promise((resolve) => setTimeout(resolve, pause * 1000))
            }
        }
        throw failure
    }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
    const [call, first, state, key] = process.argv.slice(2)
    const { LAMPLIGHTER_GATEWAY_URL: url, LAMPLIGHTER_APP_KEY: appKey } = process.env
    const { LAMPLIGHTER_APP_SECRET: appSecret, LAMPLIGHTER_APP_MASTER_SECRET: masterSecret } = process.env
    const lamplighter = new Lamplighter({ url, appKey, appSecret, masterSecret })
    console.log(call === "token" ? await lamplighter.token(first) : await lamplighter[call](first, JSON.parse(state), key))
}
