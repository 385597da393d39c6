package dev.lamplighter.client;

import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** Named checks. The first that fails ends the program with exit code 1. */
final class Checks {
    interface Body {
        void run() throws Exception;
    }

    interface Condition {
        boolean holds();
    }

    private static int count;
    private static final List<File> folders = new ArrayList<>();

    private Checks() {}

    static void named(String name, Body body) {
        try {
            body.run();
            count++;
        } catch (Throwable error) {
            System.err.println("✗ " + name);
            error.printStackTrace();
            System.exit(1);
        } finally {
            for (File folder : folders) remove(folder);
            folders.clear();
        }
    }

    static int count() {
        return count;
    }

    static void that(String what, boolean holds) {
        if (!holds) throw new AssertionError(what);
    }

    static void same(String what, Object expected, Object found) {
        if (!Objects.equals(expected, found)) throw new AssertionError(what + ": " + found + ", not " + expected);
    }

    /** Waits for something that another thread does. */
    static void eventually(String what, Condition condition) throws InterruptedException {
        long end = System.nanoTime() + 20_000_000_000L;
        while (!condition.holds()) {
            that("it never was so: " + what, System.nanoTime() < end);
            Thread.sleep(2);
        }
    }

    /** A folder that is gone after the check. */
    static File folder() throws Exception {
        File folder = File.createTempFile("lamplighter-client.", "");
        that("a folder", folder.delete() && folder.mkdir());
        folders.add(folder);
        return folder;
    }

    private static void remove(File folder) {
        File[] files = folder.listFiles();
        if (files != null) for (File file : files) remove(file);
        folder.delete();
    }
}
