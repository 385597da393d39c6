package dev.lamplighter.client;

/** How long the outbox waits after a failure. It never gives up. A decision without I/O. */
final class Backoff {
    /** Milliseconds. */
    static final long LONGEST = 300_000;
    /** A gateway may ask for longer, up to this many milliseconds. */
    static final long LONGEST_ASKED = 3_600_000;
    private int failures;

    /** How long to wait, and the part of it that the gateway asked for, which nothing shortens. Milliseconds. */
    static final class Pause {
        final long length;
        final long asked;

        Pause(long length, long asked) {
            this.length = length;
            this.asked = asked;
        }
    }

    boolean hasFailed() {
        return failures > 0;
    }

    void succeeded() {
        failures = 0;
    }

    /**
     * Counts a failure. The pause has a random part: a gateway that comes back must not meet a million phones in one
     * second.
     *
     * @param asked the milliseconds of `Retry-After`, or 0
     */
    Pause failed(long asked, Clock clock) {
        failures = Math.min(failures + 1, 20);
        long longest = Math.min(1_000L << failures, LONGEST);
        double own = clock.random(longest / 2.0, longest);
        double least = Math.min(Math.max(asked, 0), LONGEST_ASKED);
        double spread = clock.random(least, least * 1.5);
        return new Pause((long) Math.max(own, spread), (long) spread);
    }
}
