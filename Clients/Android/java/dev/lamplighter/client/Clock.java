package dev.lamplighter.client;

import java.util.Random;

/** Time and chance. Tests bring their own. */
class Clock {
    private final Random random = new Random();

    /** Epoch milliseconds. It may jump either way. */
    long now() {
        return System.currentTimeMillis();
    }

    /** Milliseconds that only grow. */
    long uptime() {
        return System.nanoTime() / 1_000_000;
    }

    /** Waits for a notice of the lock, which the caller holds, or until the milliseconds are over. */
    void await(Object lock, long milliseconds) throws InterruptedException {
        lock.wait(Math.max(1, milliseconds));
    }

    /** A number from `least` to `most`. */
    double random(double least, double most) {
        return least + random.nextDouble() * (most - least);
    }
}
