// The calls of a backend, for Node 18 or later without packages.
//
//     const lamplighter = new Lamplighter({ url, appKey, appSecret, masterSecret })
//     const token = await lamplighter.token(channel)
//     await lamplighter.publish("match-42", { home: 1, away: 0, clock: "12:00" }, "match-42/7")
//     await lamplighter.end("match-42", { home: 1, away: 0, clock: "12:00" }, "match-42/end")
import { pathToFileURL } from "node:url"

/** The gateway refused a call, or nothing that answered was the gateway (status 0, or a 2xx in another form). */
export class LamplighterError extends Error {
    constructor(status, text) {
        super(`${status} ${text.slice(0, 1000)}`)
        this.name = "LamplighterError"
        this.status = status
    }
}

// Attempts, seconds of one, and the longest pause between two. A user waits for a token: five seconds at most.
const patience = { GET: [2, 2, 1], POST: [6, 30, 60] }

const basic = (user, secret) => "Basic " + Buffer.from(`${user}:${secret}`).toString("base64")

/** `Retry-After` is a number or a date. A proxy may send anything. */
const seconds = (text) => (/^[0-9]+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000 || 0)

/** The member of an object, or undefined if the text is nothing of the kind. */
function memberOf(text, member) {
    try {
        return JSON.parse(text)?.[member]
    } catch {
        return undefined
    }
}

export class Lamplighter {
    constructor({ url, appKey, appSecret, masterSecret }) {
        this.url = url.replace(/\/+$/, "")
        this.app = basic(appKey, appSecret)
        this.master = basic(appKey, masterSecret)
    }

    /** The token that the app of this channel asks for. Check first that the channel is the caller's. */
    token(channel) {
        return this.#call("GET", "/api/auth/device?only=reports", this.app, "X-UA-Channel-ID", channel, "token")
    }

    /**
     * Sends a content state to everybody who follows the name, and returns the push id.
     * `key` names this publish: a repetition with the same key is sent once.
     */
    async publish(name, contentState, key, event = "update") {
        const activity = { name, event, content_state: contentState }
        const push = { audience: "all", device_types: ["ios"], notification: { ios: { live_activity: activity } } }
        return (await this.#call("POST", "/api/push", this.master, "Idempotency-Key", key, "push_ids", push))[0]
    }

    end(name, contentState, key) {
        return this.publish(name, contentState, key, "end")
    }

    /** Repeats a 408, 429, 5xx, a broken connection, and a 2xx that is not the gateway's. */
    async #call(method, path, authorization, header, text, member, push) {
        // `fetch` would send undefined as the text "undefined".
        if (typeof text !== "string" || !/^[ -~]{1,255}$/.test(text)) {
            const what = push ? "key" : "channel"
            throw new TypeError(`the ${what} must be a text of 1 to 255 printable ASCII characters, not ${JSON.stringify(text)}`)
        }
        const target = new URL(this.url + path)
        const body = push && JSON.stringify(push)
        const headers = { Authorization: authorization, "Content-Type": "application/json", [header]: text }
        const [attempts, timeout, longest] = patience[method]
        let failure
        for (let attempt = 0; attempt < attempts; attempt++) {
            let asked = 0
            try {
                const signal = AbortSignal.timeout(timeout * 1000)
                // A redirect is an answer like others: the secrets are for this host.
                const answer = await fetch(target, { method, headers, body, signal, redirect: "manual" })
                asked = seconds(answer.headers.get("Retry-After"))
                const answered = await answer.text()
                failure = new LamplighterError(answer.status, answered)
                const value = answer.ok && memberOf(answered, member)
                if (value?.length) return value
                if (!answer.ok && answer.status < 500 && ![408, 429].includes(answer.status)) break
            } catch (error) {
                failure = new LamplighterError(0, String(error.cause ?? error))
            }
            if (attempt + 1 < attempts) {
                const pause = Math.min(Math.max(asked, (0.5 + Math.random() / 2) * 2 ** attempt), longest)
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
