package dev.lamplighter.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;

/** The gateway, as one channel reaches it. Only the outbox's thread uses it. */
final class Gateway {
    /** The app's backend gave no token for the channel. */
    private static final class NoToken extends Exception {
        private static final long serialVersionUID = 1;

        NoToken(Object reason) {
            super("your app's backend gave no token, and the gateway was not asked: " + reason
                + ". Look at the Backend of your Lamplighter, and at the backend's call of /api/auth/device");
        }
    }

    /** A request without its address and its credential. */
    static final class Request {
        final String method;
        final String path;
        final String body;

        private Request(String method, String path, String body) {
            this.method = method;
            this.path = path;
            this.body = body;
        }

        /** The call of a report. A follow names the address too, so it needs no order among the calls. */
        static Request of(OutboxState.Entry entry, OutboxState state) {
            if (entry.report == OutboxState.Report.CHANNEL) {
                String path = "/api/channels/" + encoded(state.channel());
                StringBuilder body = new StringBuilder("{\"channel\":{\"device_type\":\"android\"");
                // Without an address the gateway sends nothing to the channel.
                if (state.address() != null) body.append(",\"push_address\":").append(Json.quoted(state.address()));
                body.append(",\"opt_in\":").append(state.isShown());
                return new Request("PUT", path, body.append(",\"background\":true}}").toString());
            }
            String path = "/api/activities/" + encoded(entry.name) + "/channels/" + encoded(state.channel());
            if (entry.report == OutboxState.Report.UNFOLLOW) return new Request("DELETE", path, null);
            return new Request("PUT", path, "{\"platform\":\"android\",\"token\":" + Json.quoted(state.address())
                + ",\"activity_id\":\"" + state.card(entry.name) + "\",\"options\":{\"catch_up\":true}}");
        }
    }

    /** A token that ends this soon is not used: the request takes a moment. Milliseconds. */
    private static final long MARGIN = 60_000;
    private final String url;
    private final String appKey;
    private final Backend backend;
    private final Transport transport;
    private final Clock clock;
    private String token;
    private String tokenChannel;
    /** The uptime at which the token is not used any more. It is kept in memory alone. */
    private long tokenEnd;

    Gateway(String url, String appKey, Backend backend, Transport transport, Clock clock) {
        this.url = url.endsWith("/") ? url.substring(0, url.length() - 1) : url;
        this.appKey = appKey;
        this.backend = backend;
        this.transport = transport;
        this.clock = clock;
    }

    /** Sends a request for a channel. After a 401 it gets a new token and sends the request once more. */
    Reply send(Request request, String channel) {
        try {
            boolean isNew = refreshToken(channel);
            Reply reply = attempt(request, channel);
            if (reply.status != 401) return reply;
            token = null;
            if (isNew) return reply;
            refreshToken(channel);
            reply = attempt(request, channel);
            if (reply.status == 401) token = null;
            return reply;
        } catch (IOException | NoToken error) {
            return Reply.none(error.getMessage() == null ? error.toString() : error.getMessage());
        }
    }

    private Reply attempt(Request request, String channel) throws IOException {
        Map<String, String> fields = new LinkedHashMap<>();
        fields.put("Authorization", "Bearer " + token);
        fields.put("X-UA-Appkey", appKey);
        fields.put("X-UA-Channel-ID", channel);
        return transport.send(request.method, url + request.path, fields, request.body);
    }

    /** Returns whether it asked the backend. */
    private boolean refreshToken(String channel) throws NoToken {
        if (token != null && channel.equals(tokenChannel) && clock.uptime() < tokenEnd) return false;
        token = null;
        String asked;
        try {
            asked = backend.token(channel);
        } catch (Exception error) {
            throw new NoToken(error);
        }
        // A line end would be another field of the request.
        if (asked == null || !asked.matches("[!-~]+")) throw new NoToken("it is no token");
        long life = life(asked);
        tokenEnd = life < 0 ? Long.MAX_VALUE : clock.uptime() + Math.max(0, life - MARGIN);
        tokenChannel = channel;
        token = asked;
        return true;
    }

    /** The milliseconds that a token lives, from its claims: the phone's clock may be wrong. -1: it does not say. */
    static long life(String token) {
        String[] parts = token.split("\\.", -1);
        if (parts.length != 3) return -1;
        try {
            Json claims = Json.read(new String(base64(parts[1]), StandardCharsets.UTF_8));
            Json from = claims.get("iat");
            Json to = claims.get("exp");
            if (from == null || to == null || from.whole() == null || to.whole() == null) return -1;
            return Math.max(0, (to.whole() - from.whole()) * 1_000);
        } catch (Json.Malformed notOurs) {
            return -1;
        }
    }

    /** Android has `java.util.Base64` since 8.0 alone. */
    private static byte[] base64(String text) {
        String digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        byte[] bytes = new byte[text.length() * 6 / 8];
        int bits = 0;
        int have = 0;
        int count = 0;
        for (int i = 0; i < text.length(); i++) {
            bits = bits << 6 | Math.max(0, digits.indexOf(text.charAt(i)));
            have += 6;
            if (have >= 8) {
                have -= 8;
                bytes[count++] = (byte) (bits >> have);
            }
        }
        return bytes;
    }

    /** One component of a path. A slash inside a name is part of it. */
    static String encoded(String text) {
        StringBuilder out = new StringBuilder();
        for (byte b : text.getBytes(StandardCharsets.UTF_8)) {
            char c = (char) (b & 0xff);
            boolean isLetter = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
            if (isLetter || c >= '0' && c <= '9' || "-._~".indexOf(c) >= 0) {
                out.append(c);
            } else {
                out.append('%').append(Character.toUpperCase(Character.forDigit(c >> 4, 16)));
                out.append(Character.toUpperCase(Character.forDigit(c & 15, 16)));
            }
        }
        return out.toString();
    }
}
