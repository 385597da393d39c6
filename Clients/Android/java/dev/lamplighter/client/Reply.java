package dev.lamplighter.client;

/** The reply to a request, or its absence. */
final class Reply {
    /** The outbox's decision after a reply. */
    enum Fate {
        DONE,
        /** Send it again later. */
        AGAIN,
        /** The gateway will never take it. */
        REFUSED
    }

    /** 0: no answer. The gateway may have done it. */
    final int status;
    /** The milliseconds of `Retry-After`. 0: none. */
    final long retryAfter;
    private final String reason;
    private final Json body;

    Reply(int status, long retryAfter, String body) {
        this.status = status;
        this.retryAfter = retryAfter;
        this.reason = null;
        this.body = json(body);
    }

    private Reply(String reason) {
        this.status = 0;
        this.retryAfter = 0;
        this.reason = reason;
        this.body = null;
    }

    static Reply none(String reason) {
        return new Reply(reason);
    }

    private static Json json(String text) {
        try {
            return Json.read(text);
        } catch (Json.Malformed notTheGateways) {
            return null;
        }
    }

    private Json member(String key) {
        return body == null ? null : body.get(key);
    }

    /** What happened, for the developer. */
    String words() {
        if (status == 0) return reason;
        Json error = member("error");
        boolean isGateways = error != null && error.string() != null;
        return status + " " + (isGateways ? error.string() : "without the gateway's words");
    }

    /**
     * A decision without I/O.
     *
     * @param isEmptyDone whether the gateway answers this request with 204 and no body
     */
    Fate fate(boolean isEmptyDone) {
        if (status == 204 && isEmptyDone) return Fate.DONE;
        if (status >= 200 && status < 300) {
            // A page of a captive portal, or of a proxy while its gateway is away, is also a 200.
            return member("ok") != null && member("ok").isTrue() ? Fate.DONE : Fate.AGAIN;
        }
        // 401: the token has expired, and a fresh one was refused too. The app's backend may be late with a new
        // secret.
        boolean isForNow = status == 401 || status == 408 || status == 425 || status == 429 || status >= 500;
        // A redirect, and a proxy that has no gateway behind it for a moment, have words of their own.
        return isForNow || status < 400 || member("error_code") == null ? Fate.AGAIN : Fate.REFUSED;
    }
}
