package dev.lamplighter.client;

import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

/**
 * Reads and writes small files.
 *
 * <p>A write goes to another file, which then takes the place of the old one. So a process that is killed in the middle
 * of a write leaves the old file as it was. Only `java.io` is used, because Android has `java.nio.file` since 8.0
 * alone. So the folder itself is not synced: after a loss of power the file may be the one before the last write.
 */
class Disk {
    /** Returns null if there is no file. */
    String read(File file) throws IOException {
        if (!file.exists()) return null;
        try (InputStream in = new FileInputStream(file)) {
            return text(in, Integer.MAX_VALUE);
        }
    }

    /** Writes a file whole. */
    final void write(File file, String text, boolean isSynced) throws IOException {
        File folder = file.getParentFile();
        if (!folder.isDirectory() && !folder.mkdirs() && !folder.isDirectory()) {
            throw new IOException("cannot make the folder " + folder);
        }
        File next = new File(folder, file.getName() + ".new");
        put(next, text.getBytes(StandardCharsets.UTF_8), isSynced);
        move(next, file);
    }

    void put(File file, byte[] bytes, boolean isSynced) throws IOException {
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(bytes);
            if (isSynced) out.getFD().sync();
        }
    }

    void move(File from, File to) throws IOException {
        if (!from.renameTo(to)) throw new IOException("cannot rename " + from + " to " + to);
    }

    /** Reads to the end, or to the first byte beyond the limit. */
    static String text(InputStream in, int limit) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] buffer = new byte[8_192];
        for (int count; out.size() <= limit && (count = in.read(buffer)) >= 0;) out.write(buffer, 0, count);
        return new String(out.toByteArray(), StandardCharsets.UTF_8);
    }
}
