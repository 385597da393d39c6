package dev.lamplighter.client;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** A gateway that misbehaves, on a port of its own. It keeps each channel as the real one does. */
final class GatewayDouble implements AutoCloseable {
    enum Fault {
        NONE,
        ERROR,
        BUSY,
        HANGS,
        RESET,
        /** The gateway has done it, and only its answer is lost. */
        ANSWER_LOST,
        ANSWER_CUT,
        PORTAL,
        PROXY_WITHOUT_GATEWAY,
        REDIRECT,
        UNAUTHORIZED,
        REFUSED
    }

    /** Chooses the fault of a request by its number, from 0. */
    interface Faults {
        Fault of(int number, String call);
    }

    static final class Channel {
        String address;
        boolean isShown;
        final Map<String, String> cards = new TreeMap<>();
    }

    private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    volatile Faults faults = (number, call) -> Fault.NONE;
    /** Tokens that it takes. Empty: any. */
    final TreeSet<String> tokens = new TreeSet<>();
    // `this` guards these.
    private final Map<String, Channel> channels = new HashMap<>();
    private final List<String> calls = new ArrayList<>();
    private final List<String> bodies = new ArrayList<>();
    private int seen;
    private int open;

    GatewayDouble() throws IOException {
        Thread thread = new Thread(() -> {
            while (true) {
                try {
                    Socket socket = server.accept();
                    count(1);
                    Thread connection = new Thread(() -> serve(socket));
                    connection.setDaemon(true);
                    connection.start();
                } catch (IOException closed) {
                    return;
                }
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    String url() {
        return "http://127.0.0.1:" + server.getLocalPort();
    }

    synchronized Channel channel(String id) {
        return channels.computeIfAbsent(id, any -> new Channel());
    }

    synchronized TreeSet<String> names(String channel) {
        return new TreeSet<>(channel(channel).cards.keySet());
    }

    /** The calls that it did, such as `PUT follow match-42`. */
    synchronized List<String> calls() {
        return new ArrayList<>(calls);
    }

    synchronized String lastBody() {
        return bodies.get(bodies.size() - 1);
    }

    synchronized int seen() {
        return seen;
    }

    @Override
    public void close() throws IOException {
        server.close();
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        for (int c; (c = in.read()) != '\n';) {
            if (c < 0) return null;
            if (c != '\r') out.write(c);
        }
        return out.toString("UTF-8");
    }

    private void serve(Socket socket) {
        try (Socket all = socket) {
            InputStream in = socket.getInputStream();
            for (String head; (head = line(in)) != null;) {
                Map<String, String> fields = new LinkedHashMap<>();
                for (String field; !(field = line(in)).isEmpty();) {
                    int colon = field.indexOf(':');
                    fields.put(field.substring(0, colon).toLowerCase(), field.substring(colon + 2));
                }
                byte[] body = new byte[Integer.parseInt(fields.getOrDefault("content-length", "0"))];
                for (int at = 0; at < body.length;) {
                    int count = in.read(body, at, body.length - at);
                    if (count < 0) return;
                    at += count;
                }
                if (!answer(socket, head.split(" "), fields, new String(body, StandardCharsets.UTF_8))) return;
            }
        } catch (IOException gone) {
            // The client was killed.
        } catch (Exception wrong) {
            wrong.printStackTrace();
            System.exit(1);
        } finally {
            count(-1);
        }
    }

    private synchronized void count(int change) {
        open += change;
        notifyAll();
    }

    /** Waits until the connections of a killed process are gone, and so is what they brought. */
    synchronized void awaitQuiet() throws InterruptedException {
        while (open > 0) wait();
    }

    private boolean answer(Socket socket, String[] head, Map<String, String> fields, String body) throws Exception {
        String call = describe(head);
        int number;
        synchronized (this) {
            number = seen++;
        }
        Fault fault = faults.of(number, call);
        boolean isKnown = tokens.isEmpty() || tokens.contains(fields.get("authorization").replace("Bearer ", ""));
        if (!isKnown) fault = Fault.UNAUTHORIZED;
        String page = "<html>Welcome to the café</html>";
        String error = "{\"ok\":false,\"error\":\"no\",\"error_code\":40000}";
        switch (fault) {
            case HANGS:
                // Until the client goes.
                while (socket.getInputStream().read() >= 0) continue;
                return false;
            case RESET:
                socket.setSoLinger(true, 0);
                return false;
            case ERROR: return write(socket, 500, "", error);
            case BUSY: return write(socket, 503, "Retry-After: 1\r\n", error);
            case PORTAL: return write(socket, 200, "", page);
            case PROXY_WITHOUT_GATEWAY: return write(socket, 404, "", page);
            case REDIRECT: return write(socket, 302, "Location: " + url() + "/portal\r\n", page);
            case UNAUTHORIZED: return write(socket, 401, "", "{\"ok\":false,\"error\":\"token\",\"error_code\":40101}");
            case REFUSED: return write(socket, 400, "", error);
            default: break;
        }
        boolean isEmpty = apply(head, call, body);
        if (fault == Fault.ANSWER_LOST) return false;
        String answer = isEmpty ? "" : "{\"ok\":true,\"result\":\"stored\"}";
        if (fault == Fault.ANSWER_CUT) {
            write(socket, isEmpty ? 200 : 201, "", answer + "more", 2_000);
            return false;
        }
        return write(socket, isEmpty ? 204 : 200, "", answer);
    }

    private static boolean write(Socket socket, int status, String fields, String body) throws IOException {
        return write(socket, status, fields, body, body.getBytes(StandardCharsets.UTF_8).length);
    }

    private static boolean write(Socket socket, int status, String fields, String body, int length) throws IOException {
        String text = "HTTP/1.1 " + status + " Text\r\n" + fields;
        if (status != 204) text += "Content-Length: " + length + "\r\n";
        socket.getOutputStream().write((text + "\r\n" + body).getBytes(StandardCharsets.UTF_8));
        return true;
    }

    private static String decoded(String text) throws IOException {
        return URLDecoder.decode(text.replace("+", "%2B"), "UTF-8");
    }

    private static String describe(String[] head) throws IOException {
        String[] path = head[1].split("/");
        if (path.length == 4 && path[2].equals("channels") && head[0].equals("PUT")) return "PUT channel";
        if (path.length == 6 && path[2].equals("activities") && path[4].equals("channels")) {
            if (head[0].equals("PUT")) return "PUT follow " + decoded(path[3]);
            if (head[0].equals("DELETE")) return "DELETE follow " + decoded(path[3]);
        }
        throw new IllegalStateException("an unknown call: " + head[0] + " " + head[1]);
    }

    /** Does what the call says. Returns whether its answer has no body. */
    private synchronized boolean apply(String[] head, String call, String body) throws Exception {
        String[] path = head[1].split("/");
        Channel channel = channel(decoded(path[path.length - 1]));
        calls.add(call);
        bodies.add(body);
        if (head[0].equals("DELETE")) {
            channel.cards.remove(decoded(path[3]));
            return true;
        }
        Json json = Json.read(body);
        if (call.equals("PUT channel")) {
            Json members = json.get("channel");
            Checks.same("device_type", "android", members.get("device_type").string());
            channel.address = members.get("push_address") == null ? null : members.get("push_address").string();
            channel.isShown = members.get("opt_in").isTrue();
        } else {
            Checks.same("platform", "android", json.get("platform").string());
            channel.address = json.get("token").string();
            channel.cards.put(decoded(path[3]), json.get("activity_id").string());
        }
        return false;
    }
}
