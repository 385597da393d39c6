package dev.lamplighter.client;

import java.io.File;
import java.io.IOException;
import java.util.Map;
import java.util.Random;

/** The process is gone: nothing that it would do happens after this. */
final class Killed extends Error {
    private static final long serialVersionUID = 1;

    /** The threads of one process. It dies at one of its steps: in a write, around a rename, around a request. */
    static final class Process {
        private final Random random;
        private int stepsLeft;
        private boolean isDead;
        private int requests;
        private Lamplighter client;

        /** @param steps how many steps it does before it dies. -1: it lives. */
        Process(Random random, int steps) {
            this.random = random;
            stepsLeft = steps;
        }

        /** Returns whether it dies in this step. Throws if it is dead. */
        private boolean diesNow() {
            if (isDead) throw new Killed();
            if (stepsLeft-- != 0) return false;
            die();
            return true;
        }

        /** A thread that waits for another thread of the client dies too. */
        private void die() {
            isDead = true;
            if (client != null) new Thread(client::close).start();
        }

        synchronized void has(Lamplighter client) {
            this.client = client;
            if (isDead) client.close();
        }

        synchronized boolean isDead() {
            return isDead;
        }

        /** Ends it from outside, and waits until its last request is over: the next process must not overtake it. */
        synchronized void kill() throws InterruptedException {
            die();
            while (requests > 0) wait();
        }

        private synchronized boolean begin() {
            boolean dies = diesNow();
            if (dies && random.nextBoolean()) throw new Killed();
            requests++;
            return dies;
        }

        private synchronized void end(boolean dies) {
            requests--;
            notifyAll();
            if (dies || isDead) throw new Killed();
        }

        final class DyingDisk extends Disk {
            @Override
            void put(File file, byte[] bytes, boolean isSynced) throws IOException {
                synchronized (Process.this) {
                    if (!diesNow()) {
                        // A kill loses nothing that was written, so the sync would only take time.
                        super.put(file, bytes, false);
                        return;
                    }
                    byte[] part = new byte[random.nextInt(bytes.length + 1)];
                    System.arraycopy(bytes, 0, part, 0, part.length);
                    super.put(file, part, false);
                    throw new Killed();
                }
            }

            @Override
            void move(File from, File to) throws IOException {
                synchronized (Process.this) {
                    boolean dies = diesNow();
                    if (!dies || random.nextBoolean()) super.move(from, to);
                    if (dies) throw new Killed();
                }
            }
        }

        final class DyingTransport extends Transport {
            DyingTransport(int timeout) {
                super(timeout);
            }

            @Override
            Reply send(String method, String url, Map<String, String> fields, String body) throws IOException {
                boolean dies = begin();
                try {
                    return super.send(method, url, fields, body);
                } finally {
                    end(dies);
                }
            }
        }
    }
}
