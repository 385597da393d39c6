package dev.lamplighter.client;

/** A problem for the developer. The user can do nothing about it. */
public final class LamplighterException extends Exception {
    private static final long serialVersionUID = 1;

    public enum Kind {
        /** The gateway refuses a report for good, so it was dropped: the app or its settings are wrong. */
        REFUSED,
        /**
         * The gateway or the app's backend does not answer, or asks to wait. The client goes on trying. Told once,
         * until it works again.
         */
        DELAYED,
        /** The outbox cannot be written, so reports are in memory alone. Told once, until it works again. */
        STORAGE,
        /** Too many reports wait, so the oldest was dropped. */
        FULL,
        /** A message of FCM cannot be read, so nothing is shown. */
        MESSAGE
    }

    private final Kind kind;

    LamplighterException(Kind kind, String description) {
        super(description);
        this.kind = kind;
    }

    public Kind getKind() {
        return kind;
    }
}
