package dev.lamplighter.client;

import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;

/** A client at a real gateway: {@code GatewayTrial URL APP_KEY APP_SECRET}. */
final class GatewayTrial {
    private GatewayTrial() {}

    public static void main(String[] arguments) {
        List<LamplighterException> problems = Collections.synchronizedList(new ArrayList<>());
        Checks.named("a real gateway takes each report", () -> {
            Lamplighter client = new Lamplighter(
                arguments[0], arguments[1], Checks.folder(), channel -> token(arguments, channel), problems::add);
            client.setAddress("dEaDbEeF:APA91bTrial");
            client.follow("android/match 42");
            Checks.that("no answer: " + problems, client.awaitSent(20_000));
            client.catchUp();
            client.unfollow("android/match 42");
            client.logOut();
            Checks.that("no answer: " + problems, client.awaitSent(20_000));
            client.close();
            Checks.that("refused: " + problems, problems.isEmpty());
        });
        System.out.println("GatewayTrial: the gateway has it all");
        System.exit(0);
    }

    /** The backend's call. */
    private static String token(String[] arguments, String channel) throws Exception {
        String secret = arguments[1] + ":" + arguments[2];
        URL url = new URL(arguments[0] + "/api/auth/device?only=reports");
        HttpURLConnection call = (HttpURLConnection) url.openConnection();
        String basic = Base64.getEncoder().encodeToString(secret.getBytes(StandardCharsets.UTF_8));
        call.setRequestProperty("Authorization", "Basic " + basic);
        call.setRequestProperty("X-UA-Channel-ID", channel);
        try (InputStream in = call.getInputStream()) {
            return Json.read(Disk.text(in, 65_536)).get("token").string();
        }
    }
}
