package dev.lamplighter.client;

/** A clock whose uptime runs a thousand times as fast, so that pauses are short and stay pauses. */
final class Fast extends Clock {
    private static final long FACTOR = 1_000;
    /** Epoch milliseconds that a check adds. */
    volatile long ahead;

    @Override
    long now() {
        return super.now() + ahead;
    }

    @Override
    long uptime() {
        return System.nanoTime() / 1_000_000 * FACTOR;
    }

    @Override
    void await(Object lock, long milliseconds) throws InterruptedException {
        lock.wait(Math.max(1, milliseconds / FACTOR));
    }
}
