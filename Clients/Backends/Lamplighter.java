import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.concurrent.ThreadLocalRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The calls of a backend, for Java 17 or later without libraries.
 *
 * <pre>
 * var lamplighter = new Lamplighter(url, appKey, appSecret, masterSecret);
 * String token = lamplighter.token(channel);
 * lamplighter.publish("match-42", "{\"home\":1}", "match-42/7");
 * lamplighter.end("match-42", "{\"home\":1}", "match-42/end");
 * </pre>
 */
public final class Lamplighter {
    private static final int ATTEMPTS = 6;

    private final HttpClient client = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(10)).build();
    private final String url;
    private final String app;
    private final String master;

    public Lamplighter(String url, String appKey, String appSecret, String masterSecret) {
        this.url = url.replaceAll("/+$", "");
        this.app = basic(appKey, appSecret);
        this.master = basic(appKey, masterSecret);
    }

    /** The token that the app of this channel asks for. Check first that the channel is the caller's. */
    public String token(String channel) throws IOException, InterruptedException {
        var request = request("/api/auth/device?only=reports", app).header("X-UA-Channel-ID", channel).GET().build();
        return find("\"token\":\"([^\"]+)\"", call(request));
    }

    /**
     * Sends a content state (JSON) to everybody who follows the name, and returns the push id.
     *
     * @param key names this publish: a repetition with the same key is sent once
     */
    public String publish(String name, String contentState, String key) throws IOException, InterruptedException {
        return push("update", name, contentState, key);
    }

    public String end(String name, String contentState, String key) throws IOException, InterruptedException {
        return push("end", name, contentState, key);
    }

    private String push(String event, String name, String contentState, String key)
            throws IOException, InterruptedException {
        String body = "{\"audience\":\"all\",\"device_types\":[\"ios\"],\"notification\":{\"ios\":{\"live_activity\":{\"name\":"
                + quoted(name) + ",\"event\":\"" + event + "\",\"content_state\":" + contentState + "}}}}";
        var request = request("/api/push", master).header("Idempotency-Key", key)
                .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(body)).build();
        return find("\"push_ids\":\\[\"([^\"]+)\"", call(request));
    }

    private String call(HttpRequest request) throws IOException, InterruptedException {
        IOException failure = null;
        for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
            double asked = 0;
            try {
                var answer = client.send(request, HttpResponse.BodyHandlers.ofString());
                int status = answer.statusCode();
                if (status / 100 == 2) return answer.body();
                failure = new IOException(status + " " + answer.body());
                if (status < 500 && status != 408 && status != 429) break;
                asked = answer.headers().firstValue("Retry-After").map(Double::parseDouble).orElse(0.0);
            } catch (IOException error) {
                failure = error;
            }
            double pause = Math.max(asked, ThreadLocalRandom.current().nextDouble(0.5, 1) * (1 << attempt));
            if (attempt + 1 < ATTEMPTS) Thread.sleep((long) (pause * 1000));
        }
        throw failure;
    }

    private HttpRequest.Builder request(String path, String authorization) {
        return HttpRequest.newBuilder(URI.create(url + path)).timeout(Duration.ofSeconds(30))
                .header("Authorization", authorization);
    }

    private static String basic(String user, String secret) {
        return "Basic " + Base64.getEncoder().encodeToString((user + ":" + secret).getBytes(StandardCharsets.UTF_8));
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private static String find(String pattern, String answer) throws IOException {
        Matcher matcher = Pattern.compile(pattern).matcher(answer);
        if (!matcher.find()) throw new IOException("not in the answer: " + pattern);
        return matcher.group(1);
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        var environment = System.getenv();
        var lamplighter = new Lamplighter(
                environment.get("LAMPLIGHTER_GATEWAY_URL"), environment.get("LAMPLIGHTER_APP_KEY"),
                environment.get("LAMPLIGHTER_APP_SECRET"), environment.get("LAMPLIGHTER_APP_MASTER_SECRET"));
        System.out.println(switch (arguments[0]) {
            case "token" -> lamplighter.token(arguments[1]);
            case "publish" -> lamplighter.publish(arguments[1], arguments[2], arguments[3]);
            case "end" -> lamplighter.end(arguments[1], arguments[2], arguments[3]);
            default -> throw new IllegalArgumentException(arguments[0]);
        });
    }
}
