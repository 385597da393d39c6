package dev.lamplighter.client;

import java.io.File;
import java.io.IOException;
import java.util.UUID;

/**
 * Sends reports to the gateway, each until the gateway has answered, across launches.
 *
 * <p>A change returns when it is on disk. One thread sends, one request at a time; it waits between attempts by
 * {@link Backoff}, for ever. The newest report of a name takes the place of an older one.
 */
final class Outbox implements Runnable {
    /** Milliseconds over which the reports that a message caused are spread. */
    private static final double SPREAD = 20_000;

    private interface Change {
        void make(OutboxState state);
    }

    private final File file;
    private final Disk disk;
    private final Gateway gateway;
    private final Clock clock;
    private final ProblemListener listener;
    private final Object lock = new Object();

    // `lock` guards all of these.
    private OutboxState state;
    private boolean isUnsaved;
    private boolean toldStorage;
    private boolean isClosed;
    private final Backoff backoff = new Backoff();
    /** The uptime before which nothing is sent after a failure, and the part that the gateway asked for. */
    private long retryAt = Long.MIN_VALUE;
    private long askedUntil = Long.MIN_VALUE;
    /** The uptime before which the reports that a message caused wait. */
    private long spreadUntil = Long.MIN_VALUE;
    /** Counts failures, for `settle`. */
    private long failures;
    private String lastReason;

    Outbox(File folder, Disk disk, Gateway gateway, Clock clock, ProblemListener listener) {
        this.file = new File(folder, "outbox.json");
        this.disk = disk;
        this.gateway = gateway;
        this.clock = clock;
        this.listener = listener;
        state = load();
    }

    /** Begins to send what an earlier launch left. */
    void start() {
        refresh();
        Thread thread = new Thread(this, "Lamplighter");
        thread.setDaemon(true);
        thread.start();
    }

    private OutboxState load() {
        try {
            String text = disk.read(file);
            if (text != null) return OutboxState.read(text);
        } catch (IOException | Json.Malformed error) {
            File aside = new File(file.getPath() + ".damaged");
            boolean isKept = file.renameTo(aside);
            tell(LamplighterException.Kind.STORAGE,
                "the outbox could not be read" + (isKept ? " and is now " + aside : "") + ": " + error.getMessage());
        }
        OutboxState fresh = new OutboxState(UUID.randomUUID().toString());
        // The channel's id must be on disk before anybody learns it.
        isUnsaved = true;
        save(fresh);
        return fresh;
    }

    // Changes of the app.

    void setAddress(final String token) {
        final long now = clock.now();
        change(false, state -> state.setAddress(token, now));
    }

    void setShown(final boolean isShown) {
        change(false, state -> state.setShown(isShown));
    }

    /** @param isSpread whether a message caused it, which reached many devices in one second */
    void follow(final String name, boolean isSpread) {
        change(isSpread, state -> state.follow(name));
    }

    void unfollow(final String name, boolean isSpread) {
        change(isSpread, state -> state.unfollow(name));
    }

    void catchUp() {
        change(true, OutboxState::catchUp);
    }

    void optOut() {
        change(false, OutboxState::optOut);
    }

    void optIn() {
        change(false, OutboxState::optIn);
    }

    private void refresh() {
        final long now = clock.now();
        change(false, state -> state.refresh(now));
    }

    /** An attempt is worth it now, unless the gateway asked to wait. */
    void retryNow() {
        synchronized (lock) {
            retryAt = askedUntil;
            spreadUntil = Long.MIN_VALUE;
            lock.notifyAll();
        }
        refresh();
    }

    /** Begins another channel. On disk it is one step: a kill leaves the one or the other. */
    void replaceChannel() throws LamplighterException {
        synchronized (lock) {
            OutboxState old = state;
            try {
                state = OutboxState.read(old.stored());
                state.replaceChannel(UUID.randomUUID().toString());
                disk.write(file, state.stored(), true);
            } catch (IOException | Json.Malformed error) {
                state = old;
                throw new LamplighterException(LamplighterException.Kind.STORAGE, "" + error.getMessage());
            }
            isUnsaved = false;
            lock.notifyAll();
        }
    }

    void close() {
        synchronized (lock) {
            isClosed = true;
            lock.notifyAll();
        }
    }

    interface Question<T> {
        T ask(OutboxState state);
    }

    <T> T look(Question<T> question) {
        synchronized (lock) {
            return question.ask(state);
        }
    }

    /** Waits until nothing is left to send. Returns false if the milliseconds were over before. */
    boolean awaitSent(long milliseconds) throws InterruptedException {
        synchronized (lock) {
            long end = clock.uptime() + milliseconds;
            while (state.next() != null) {
                if (clock.uptime() >= end) return false;
                clock.await(lock, end - clock.uptime());
            }
            return true;
        }
    }

    /**
     * Waits until the gateway has each report.
     *
     * @throws LamplighterException after the first attempt that fails. The outbox goes on trying.
     */
    void settle() throws LamplighterException, InterruptedException {
        retryNow();
        synchronized (lock) {
            long before = failures;
            while (state.next() != null) {
                if (isClosed) throw new LamplighterException(LamplighterException.Kind.DELAYED, "the client is closed");
                if (failures != before) throw new LamplighterException(LamplighterException.Kind.DELAYED, lastReason);
                if (retryAt > clock.uptime()) {
                    throw new LamplighterException(LamplighterException.Kind.DELAYED, "the gateway asked to wait");
                }
                lock.wait();
            }
        }
    }

    private void change(boolean isSpread, Change change) {
        int dropped;
        synchronized (lock) {
            boolean wasIdle = state.next() == null;
            make(change);
            if (!isSpread) {
                spreadUntil = Long.MIN_VALUE;
            } else if (wasIdle && state.next() != null) {
                spreadUntil = clock.uptime() + (long) clock.random(0, SPREAD);
            }
            dropped = state.takeDropped();
            lock.notifyAll();
        }
        if (dropped > 0) {
            tell(LamplighterException.Kind.FULL,
                dropped + " reports or names were dropped: at most " + OutboxState.MOST_ENTRIES + " reports wait, and "
                    + OutboxState.MOST_NAMES + " names are followed");
        }
    }

    /** The caller holds the lock. */
    private void make(Change change) {
        String before = state.stored();
        change.make(state);
        if (!before.equals(state.stored())) isUnsaved = true;
        save(state);
    }

    /** Writes what is not on disk yet. After an error it stays in memory, and the next change writes all of it. */
    private void save(OutboxState state) {
        if (!isUnsaved) return;
        try {
            disk.write(file, state.stored(), true);
            isUnsaved = false;
            toldStorage = false;
        } catch (IOException error) {
            if (!toldStorage) tell(LamplighterException.Kind.STORAGE, "" + error.getMessage());
            toldStorage = true;
        }
    }

    private void tell(LamplighterException.Kind kind, String text) {
        listener.onProblem(new LamplighterException(kind, text));
    }

    // Sending.

    @Override
    public void run() {
        try {
            while (step()) continue;
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    /** Sends one report, or waits. Returns false at the end. */
    private boolean step() throws InterruptedException {
        OutboxState.Entry entry;
        Gateway.Request request;
        String channel;
        long card;
        synchronized (lock) {
            if (isClosed) return false;
            entry = state.next();
            long wait = Math.max(retryAt, spreadUntil) - clock.uptime();
            if (entry == null) {
                if (isUnsaved) {
                    clock.await(lock, Backoff.LONGEST);
                    save(state);
                } else {
                    lock.wait();
                }
                return true;
            }
            if (Math.max(retryAt, spreadUntil) != Long.MIN_VALUE && wait > 0) {
                clock.await(lock, wait);
                return true;
            }
            channel = state.channel();
            card = entry.name == null ? 0 : state.card(entry.name);
            request = Gateway.Request.of(entry, state);
            state.tried(entry);
        }
        settle(entry, channel, card, gateway.send(request, channel));
        return true;
    }

    private void settle(OutboxState.Entry entry, String channel, long card, Reply reply) {
        synchronized (lock) {
            if (isClosed) return;
            // Meanwhile the app may have moved to another channel, whose state has no such entry.
            boolean isOfChannel = channel.equals(state.channel());
            switch (reply.fate(entry.report == OutboxState.Report.UNFOLLOW)) {
                case DONE:
                    backoff.succeeded();
                    if (isOfChannel) make(state -> state.done(entry, card, clock.now()));
                    break;
                case REFUSED:
                    backoff.succeeded();
                    if (isOfChannel) make(state -> state.refused(entry));
                    String what = entry.name == null ? "the channel" : entry.report + " " + entry.name;
                    tell(LamplighterException.Kind.REFUSED, what + ": " + reply.words());
                    break;
                default:
                    if (!backoff.hasFailed()) tell(LamplighterException.Kind.DELAYED, reply.words());
                    fail(entry, reply);
            }
            lock.notifyAll();
        }
    }

    private void fail(OutboxState.Entry entry, Reply reply) {
        Backoff.Pause pause = backoff.failed(reply.retryAfter, clock);
        long now = clock.uptime();
        retryAt = now + pause.length;
        askedUntil = now + pause.asked;
        failures++;
        lastReason = reply.words();
        // Without an answer the next one would fare no better.
        if (reply.status != 0) make(state -> state.postpone(entry));
    }
}
