package dev.lamplighter.client;

import java.io.File;
import java.util.HashMap;
import java.util.Map;

/** Checks of the values: JSON, messages, the order of messages, pauses, answers. */
final class ValueTests {
    private ValueTests() {}

    static void all() {
        Checks.named("JSON: a reader that is strict", ValueTests::json);
        Checks.named("JSON: each value knows its own text", ValueTests::jsonText);
        Checks.named("a message is read as Airship's SDK reads it", ValueTests::message);
        Checks.named("a message that cannot be read is told", ValueTests::badMessage);
        Checks.named("an older state is not shown", ValueTests::order);
        Checks.named("an end that is late ends the card and keeps its content", ValueTests::lateEnd);
        Checks.named("a start that is repeated makes no second card", ValueTests::starts);
        Checks.named("a message that comes twice is shown once, also after a launch", ValueTests::twice);
        Checks.named("a pause grows, and is never shorter than the gateway asked", ValueTests::pauses);
        Checks.named("an answer that is not the gateway's is no success and no refusal", ValueTests::answers);
        Checks.named("the life of a token is in its claims", ValueTests::life);
        Checks.named("a name is one component of the path", ValueTests::path);
        Checks.named("a damaged state is no state", ValueTests::damage);
    }

    private static boolean isJson(String text) {
        try {
            Json.read(text);
            return true;
        } catch (Json.Malformed error) {
            return false;
        }
    }

    private static void json() {
        String[] good = {
            "{}", " [ 1 , -0.5e+3 , true , null ] ", "0", "\"😀\"", "\"\\u00e9\\ud83d\\ude00\\/\"",
            "{\"a\":{\"b\":[]}}",
        };
        for (String text : good) Checks.that(text, isJson(text));
        String[] bad = {
            "", "{", "[1,]",
            "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1.", ".5", "+1", "1e", "nul", "True", "'a'", "\"a",
            "\"\t\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\udc00\"", "{} {}", "{1:2}", "NaN", "// a\n1",
            "\"\\u00",
            "\ufeff{}", "\"a\\", "[1 2]", "\u00a01", "\"\\u\u0661234\"",
        };
        for (String text : bad) Checks.that(text, !isJson(text));
        String deep = new String(new char[64]).replace("\0", "[");
        Checks.that("64 levels", isJson(deep + deep.replace('[', ']')));
        Checks.that("66 levels", !isJson("[[" + deep + deep.replace('[', ']') + "]]"));
        Checks.that("a thousand levels", !isJson(new String(new char[100_000]).replace("\0", "[")));
    }

    private static void jsonText() throws Exception {
        Json json = Json.read("{\"a\" : { \"b\":1.50, \"c\" : [ ] } ,"
            + "\"d\":\"\\u0041\",\"e\":9007199254740993,\"f\":1.0}");
        Checks.same("an object", "{ \"b\":1.50, \"c\" : [ ] }", json.get("a").text());
        Checks.same("a string", "A", json.get("d").string());
        Checks.same("a large number", 9_007_199_254_740_993L, json.get("e").whole());
        Checks.same("no whole number", null, json.get("f").whole());
        for (String text : new String[] {"", "a\"\\/\n\u0000é😀", "\u2028"}) {
            Checks.same("quoted", text, Json.read(Json.quoted(text)).string());
        }
    }

    static Map<String, String> data(String content, String id, String channel) {
        Map<String, String> data = new HashMap<>();
        data.put("com.urbanairship.live_update", content);
        if (id != null) data.put("com.urbanairship.push.CANONICAL_PUSH_ID", id);
        if (channel != null) data.put("com.urbanairship.push.APID", channel);
        return data;
    }

    static Map<String, String> data(String event, long at, String id) {
        return data("{\"name\":\"match-42\",\"event\":\"" + event + "\",\"timestamp\":" + at
            + ",\"type\":\"match\",\"content_state\":{\"at\":" + at + "}}", id, null);
    }

    private static void message() throws Exception {
        Map<String, String> data = data("{\"name\":\"match-42\",\"event\":\"end\",\"type\":\"match\","
            + "\"timestamp\":1795284000,\"content_state\":{\"home\": 2.0},"
            + "\"dismissal_date\":1795287600,\"later\":[1]}", "canonical", "channel");
        data.put("com.urbanairship.push.PUSH_ID", "push");
        data.put("com.urbanairship.push.EXPIRATION", "1795285000");
        LiveUpdate update = LiveUpdate.read(data);
        Checks.same("name", "match-42", update.getName());
        Checks.same("event", LiveUpdate.Event.END, update.getEvent());
        Checks.same("type", "match", update.getType());
        Checks.same("timestamp", 1_795_284_000L, update.getTimestamp());
        Checks.same("content state", "{\"home\": 2.0}", update.getContentState());
        Checks.same("dismissal date", 1_795_287_600L, update.getDismissalDate());
        Checks.same("push", "push", update.getPushId());
        Checks.same("canonical id", "canonical", update.canonicalId());
        Checks.same("channel", "channel", update.channel());
        String asText = "{\"name\":\"n\",\"event\":\"start\",\"timestamp\":1,\"content_state\":\"{\\\"home\\\":2}\"}";
        update = LiveUpdate.read(data(asText, null, null));
        Checks.same("a content state as a text", "{\"home\":2}", update.getContentState());
        Checks.same("no type", null, update.getType());
        Checks.same("no dismissal date", null, update.getDismissalDate());
        Checks.same("another message", null, LiveUpdate.read(new HashMap<>()));
    }

    private static void badMessage() {
        String[] bad = {
            "", "[]", "{}", "{\"name\":\"n\",\"event\":\"update\"}",
            "{\"name\":\"n\",\"event\":\"pause\",\"timestamp\":1}",
            "{\"name\":\"\",\"event\":\"update\",\"timestamp\":1}", "{\"name\":7,\"event\":\"update\",\"timestamp\":1}",
            "{\"name\":\"n\",\"event\":\"update\",\"timestamp\":\"1\"}",
            "{\"name\":\"n\",\"event\":\"update\",\"timestamp\":1.5}",
            "{\"name\":\"n\",\"event\":\"update\",\"timestamp\":1,\"content_state\":[1]}",
            "{\"name\":\"n\",\"event\":\"update\",\"timestamp\":1,\"content_state\":\"no json\"}",
        };
        for (String text : bad) {
            try {
                LiveUpdate.read(data(text, null, null));
            } catch (LamplighterException problem) {
                Checks.same(text, LamplighterException.Kind.MESSAGE, problem.getKind());
                continue;
            }
            throw new AssertionError(text);
        }
    }

    private static LiveUpdate update(String event, long at) throws Exception {
        return update(event, at, null);
    }

    private static LiveUpdate update(String event, long at, String id) throws Exception {
        return LiveUpdate.read(data(event, at, id));
    }

    private static void order() throws Exception {
        Cards cards = new Cards();
        Checks.that("an update of a name that is not followed", cards.accept(update("update", 5), false) == null);
        cards.begin("match-42");
        Checks.that("the first", cards.accept(update("update", 10), true) != null);
        Checks.that("an older one", cards.accept(update("update", 9), true) == null);
        Checks.that("of the same second", cards.accept(update("update", 10), true) != null);
        Checks.that("an end", cards.accept(update("end", 12), true) != null);
        cards.begin("match-42");
        Checks.that("an end of the card before", cards.accept(update("end", 12), true) == null);
        Checks.that("an update of the card before", cards.accept(update("update", 11), true) == null);
        Checks.that("the newest state again, for the new card", cards.accept(update("update", 12), true) != null);
        Checks.that("a newer one", cards.accept(update("update", 14), true) != null);
        // The user swiped the card away, and follows again.
        cards.begin("match-42");
        Checks.that("an end of the card before", cards.accept(update("end", 13), true) == null);
        Checks.that("an end", cards.accept(update("end", 15), true) != null);
    }

    private static void lateEnd() throws Exception {
        Cards cards = new Cards();
        cards.begin("match-42");
        cards.accept(update("update", 10), true);
        LiveUpdate end = cards.accept(update("end", 9), true);
        Checks.same("the event", LiveUpdate.Event.END, end.getEvent());
        Checks.same("old content", null, end.getContentState());
    }

    private static void starts() throws Exception {
        Cards cards = new Cards();
        Checks.that("a start", cards.accept(update("start", 10), false) != null);
        Checks.that("again", cards.accept(update("start", 11), true) == null);
        Checks.that("an end from before it", cards.accept(update("end", 9), true) == null);
        Checks.that("an update from before it", cards.accept(update("update", 9), true) == null);
        String other = "{\"name\":\"match-42\",\"event\":\"start\",\"type\":\"final\",\"timestamp\":12}";
        Checks.that("of another type", cards.accept(LiveUpdate.read(data(other, null, null)), true) != null);
        Checks.that("the end", cards.accept(update("end", 13), true) != null);
        Checks.that("a late start", cards.accept(update("start", 12), false) == null);
        Checks.that("the next start", cards.accept(update("start", 14), false) != null);
    }

    private static void twice() throws Exception {
        Cards cards = new Cards();
        cards.begin("match-42");
        for (int id = 1; id <= 12; id++) {
            Checks.that("the message " + id, cards.accept(update("update", 10, "id-" + id), true) != null);
        }
        Cards stored = Cards.read(cards.stored());
        Checks.same("the stored form", cards.stored(), stored.stored());
        Checks.that("the third again", stored.accept(update("update", 10, "id-3"), true) == null);
        Checks.that("an id that is forgotten", stored.accept(update("update", 10, "id-2"), true) != null);
        for (int name = 0; name < Cards.MOST_CARDS * 2; name++) cards.begin("name-" + name);
        Checks.that("the cards are bounded", cards.stored().length() < Cards.MOST_CARDS * 70);
    }

    private static void pauses() {
        for (double part : new double[] {0, 0.5, 1}) {
            Clock clock = new Clock() {
                @Override
                double random(double least, double most) {
                    return least + part * (most - least);
                }
            };
            Backoff backoff = new Backoff();
            long longest = 1_000;
            for (int failure = 1; failure < 100; failure++) {
                longest = Math.min(longest * 2, Backoff.LONGEST);
                Backoff.Pause pause = backoff.failed(0, clock);
                Checks.same("pause " + failure, (long) (longest / 2.0 * (1 + part)), pause.length);
                Checks.same("asked", 0L, pause.asked);
            }
            Checks.same("asked", (long) (600_000 * (1 + part / 2)), backoff.failed(600_000, clock).length);
            long most = backoff.failed(Long.MAX_VALUE, clock).asked;
            Checks.that("a gateway that asks for years: " + most, most <= Backoff.LONGEST_ASKED * 3 / 2);
            backoff.succeeded();
            Checks.that("from the start", backoff.failed(0, clock).length <= 2_000);
        }
    }

    private static void answers() {
        String page = "<html>";
        String no = "{\"ok\":false,\"error\":\"no\",\"error_code\":40000}";
        Object[][] rows = {
            {200, "{\"ok\":true}", Reply.Fate.DONE}, {201, "{\"ok\":true}", Reply.Fate.DONE},
            {204, "", Reply.Fate.DONE},
            {200, page, Reply.Fate.AGAIN}, {200, "", Reply.Fate.AGAIN}, {200, "{\"ok\":\"true\"}", Reply.Fate.AGAIN},
            {200, "[true]", Reply.Fate.AGAIN}, {202, no, Reply.Fate.AGAIN}, {302, "{\"ok\":true}", Reply.Fate.AGAIN},
            {304, "", Reply.Fate.AGAIN}, {400, no, Reply.Fate.REFUSED}, {403, no, Reply.Fate.REFUSED},
            {404, no, Reply.Fate.REFUSED}, {404, page, Reply.Fate.AGAIN}, {403, "{\"error\":\"no\"}", Reply.Fate.AGAIN},
            {401, no, Reply.Fate.AGAIN}, {408, no, Reply.Fate.AGAIN}, {425, no, Reply.Fate.AGAIN},
            {429, no, Reply.Fate.AGAIN},
            {500, no, Reply.Fate.AGAIN}, {503, page, Reply.Fate.AGAIN}, {600, "", Reply.Fate.AGAIN},
        };
        for (Object[] row : rows) {
            Reply reply = new Reply((Integer) row[0], 0, (String) row[1]);
            Checks.same(row[0] + " " + row[1], row[2], reply.fate(true));
        }
        Checks.same("204 for a call with a body", Reply.Fate.AGAIN, new Reply(204, 0, "").fate(false));
        Checks.same("no answer", Reply.Fate.AGAIN, Reply.none("offline").fate(true));
        Checks.same("words", "400 no", new Reply(400, 0, no).words());
        Checks.same("words", "502 without the gateway's words", new Reply(502, 0, page).words());
    }

    private static void life() {
        // {"aud":"shop","iat":1796077643,"exp":1796081243}
        String claims = "eyJhdWQiOiJzaG9wIiwiaWF0IjoxNzk2MDc3NjQzLCJleHAiOjE3OTYwODEyNDN9";
        Checks.same("an hour", 3_600_000L, Gateway.life("e30." + claims + ".c2ln"));
        for (String other : new String[] {"token", "a.b", "a.!!.b", "..", "e30.e30.e30"}) {
            Checks.same(other, -1L, Gateway.life(other));
        }
    }

    private static void path() {
        Checks.same("path", "a%2Fb%20%C3%A9%3F%25-._~%F0%9F%98%80", Gateway.encoded("a/b é?%-._~😀"));
    }

    private static void damage() throws Exception {
        OutboxState state = new OutboxState("channel");
        state.setAddress("token", 1);
        state.follow("match-42");
        state.follow("match-43");
        state.unfollow("match-43");
        // Read once, because after a launch the gateway may know the channel.
        String stored = OutboxState.read(state.stored()).stored();
        Checks.same("the stored form", stored, OutboxState.read(stored).stored());
        for (int length = 0; length < stored.length() - 1; length++) {
            try {
                OutboxState.read(stored.substring(0, length));
            } catch (Json.Malformed expected) {
                continue;
            }
            throw new AssertionError("the first " + length + " characters");
        }
        // A write that ends at any byte leaves the state before it.
        File file = new File(Checks.folder(), "outbox.json");
        Disk disk = new Disk();
        disk.write(file, "before", true);
        disk.put(new File(file.getPath() + ".new"), stored.getBytes("UTF-8"), false);
        Checks.same("the file", "before", disk.read(file));
    }
}
