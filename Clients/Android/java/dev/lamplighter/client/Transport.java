package dev.lamplighter.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Sends one request and gets one answer. */
class Transport {
    /** An answer of the gateway is far smaller. A portal's page may be larger. */
    private static final int LARGEST = 65_536;
    private final int timeout;

    /** @param timeout milliseconds to connect, and between two parts of an answer */
    Transport(int timeout) {
        this.timeout = timeout;
    }

    /** @param body null: none */
    Reply send(String method, String url, Map<String, String> fields, String body) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(url).openConnection();
        boolean isWhole = false;
        try {
            connection.setRequestMethod(method);
            connection.setConnectTimeout(timeout);
            connection.setReadTimeout(timeout);
            // The page at the end of a redirect is not the gateway's, and must not get the token.
            connection.setInstanceFollowRedirects(false);
            connection.setUseCaches(false);
            for (Map.Entry<String, String> field : fields.entrySet()) {
                connection.setRequestProperty(field.getKey(), field.getValue());
            }
            if (body != null) {
                connection.setRequestProperty("Content-Type", "application/json");
                connection.setDoOutput(true);
                try (OutputStream out = connection.getOutputStream()) {
                    out.write(body.getBytes(StandardCharsets.UTF_8));
                }
            }
            int status = connection.getResponseCode();
            if (status < 0) throw new IOException("an answer that is not HTTP");
            String answer = body(connection, status);
            isWhole = true;
            return new Reply(status, retryAfter(connection.getHeaderField("Retry-After")), answer);
        } finally {
            // After a whole answer the next report may use the connection.
            if (!isWhole) connection.disconnect();
        }
    }

    private static String body(HttpURLConnection connection, int status) throws IOException {
        InputStream in = status < 400 ? connection.getInputStream() : connection.getErrorStream();
        if (in == null) return "";
        try {
            return Disk.text(in, LARGEST);
        } finally {
            in.close();
        }
    }

    /** Milliseconds. A date is ignored, because the phone's clock may be wrong. */
    private static long retryAfter(String text) {
        if (text == null || !text.trim().matches("[0-9]{1,9}")) return 0;
        return Long.parseLong(text.trim()) * 1_000;
    }
}
