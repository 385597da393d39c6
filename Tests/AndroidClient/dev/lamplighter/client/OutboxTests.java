package dev.lamplighter.client;

import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;

/** Checks of a client against a gateway that misbehaves. */
final class OutboxTests implements AutoCloseable {
    /** Milliseconds of the fast clock: twenty seconds. */
    private static final long LONG = 20_000_000;
    private final File folder;
    private final GatewayDouble gateway = new GatewayDouble();
    private final Fast clock = new Fast();
    private final List<LamplighterException> problems = Collections.synchronizedList(new ArrayList<>());
    private final AtomicInteger tokens = new AtomicInteger();
    private Lamplighter client;

    private OutboxTests() throws Exception {
        folder = Checks.folder();
        client = launch();
    }

    private interface Body {
        void run(OutboxTests test) throws Exception;
    }

    private static void named(String name, Body body) {
        Checks.named(name, () -> {
            try (OutboxTests test = new OutboxTests()) {
                body.run(test);
            }
        });
    }

    @Override
    public void close() throws Exception {
        client.close();
        gateway.close();
    }

    private Lamplighter launch() {
        return launch(folder, channel -> "token-" + tokens.incrementAndGet(), clock);
    }

    private Lamplighter launch(File folder, Backend backend, Clock clock) {
        return new Lamplighter(
            gateway.url() + "/", "shop", folder, backend, problems::add, new Transport(200), clock, new Disk());
    }

    private void relaunch() {
        client.close();
        client = launch();
    }

    private void sent() throws Exception {
        Checks.that("not sent: " + gateway.calls() + " " + problems, client.awaitSent(LONG));
    }

    private void calls(String... expected) throws Exception {
        sent();
        Checks.same("calls", Arrays.asList(expected), gateway.calls());
    }

    private long told(LamplighterException.Kind kind) {
        return new ArrayList<>(problems).stream().filter(problem -> problem.getKind() == kind).count();
    }

    private void answer(GatewayDouble.Fault fault) {
        gateway.faults = (number, call) -> fault;
    }

    private void works() throws Exception {
        answer(GatewayDouble.Fault.NONE);
        client.retryNow();
        sent();
    }

    private TreeSet<String> names() {
        return gateway.names(client.getInstallId());
    }

    private String address() {
        return gateway.channel(client.getInstallId()).address;
    }

    static void all() {
        named("a change is one call", OutboxTests::oneCall);
        named("the bodies of the calls", OutboxTests::bodies);
        named("reports that were never sent cancel out, others do not", OutboxTests::cancels);
        named("the channel and the names are reported again when they are old", OutboxTests::old);
        for (GatewayDouble.Fault fault : GatewayDouble.Fault.values()) {
            if (fault == GatewayDouble.Fault.NONE || fault == GatewayDouble.Fault.REFUSED) continue;
            named("a report waits while each answer is " + fault, test -> waits(test, fault));
        }
        named("a refusal drops one report and tells", OutboxTests::refusal);
        named("one report that fails holds up no other", OutboxTests::holdsUp);
        named("nobody shortens the pause that the gateway asked for", OutboxTests::asked);
        named("an expired token is replaced once, a backend without one is told", OutboxTests::tokens);
        named("catchUp makes new cards", OutboxTests::catchesUp);
        named("optOut ends everything, across launches, and optIn begins again", OutboxTests::out);
        named("an app that opts out before its first call makes none", OutboxTests::outFirst);
        named("logOut waits for the gateway, and leaves nothing of the user", OutboxTests::logOut);
        named("a start follows its name, an end stops", OutboxTests::messages);
        named("a file that is damaged is put aside", OutboxTests::damaged);
        named("without a disk the client works and tells", OutboxTests::withoutDisk);
        named("names are bounded", OutboxTests::bounded);
    }

    private static void oneCall(OutboxTests test) throws Exception {
        test.client.follow("match/42");
        Checks.that("nothing without an address", test.client.awaitSent(0) && test.gateway.seen() == 0);
        test.client.setAddress("a:1");
        test.calls("PUT follow match/42", "PUT channel");
        test.client.setAddress("a:1");
        test.sent();
        test.client.setAddress("a:2");
        test.calls("PUT follow match/42", "PUT channel", "PUT channel");
        Checks.same("the address", "a:2", test.address());
        test.client.setNotificationsShown(false);
        test.sent();
        Checks.that("opt_in", !test.gateway.channel(test.client.getInstallId()).isShown);
        test.client.unfollow("match/42");
        test.client.unfollow("match/42");
        test.calls("PUT follow match/42", "PUT channel", "PUT channel", "PUT channel", "DELETE follow match/42");
        Checks.same("one token for all", 1, test.tokens.get());
        Checks.same("problems", 0, test.problems.size());
    }

    private static void bodies(OutboxTests test) throws Exception {
        test.client.setAddress("a:\"1");
        test.sent();
        String channel = "{\"channel\":{\"device_type\":\"android\",\"push_address\":\"a:\\\"1\",\"opt_in\":true,"
            + "\"background\":true}}";
        Checks.same("the channel", channel, test.gateway.lastBody());
        test.client.follow("m");
        test.sent();
        Checks.same("a follow", "{\"platform\":\"android\",\"token\":\"a:\\\"1\",\"activity_id\":\"2\","
            + "\"options\":{\"catch_up\":true}}", test.gateway.lastBody());
    }

    private static void old(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.client.follow("m");
        test.sent();
        test.clock.ahead = OutboxState.CHANNEL_AGE + 1_000;
        test.client.retryNow();
        test.calls("PUT channel", "PUT follow m", "PUT channel", "PUT follow m");
        test.client.retryNow();
        test.relaunch();
        test.calls("PUT channel", "PUT follow m", "PUT channel", "PUT follow m");
    }

    private static void holdsUp(OutboxTests test) throws Exception {
        test.gateway.faults = (number, call) ->
            call.equals("PUT follow bad") ? GatewayDouble.Fault.ERROR : GatewayDouble.Fault.NONE;
        test.client.setAddress("a:1");
        test.client.follow("bad");
        test.client.follow("good");
        Checks.eventually("good", () -> test.names().contains("good"));
    }

    private static void asked(OutboxTests test) throws Exception {
        test.client.close();
        Clock still = new Clock() {
            @Override
            long uptime() {
                return 0;
            }
        };
        test.client = test.launch(test.folder, channel -> "token", still);
        test.answer(GatewayDouble.Fault.BUSY);
        test.client.setAddress("a:1");
        Checks.eventually("told", () -> test.told(LamplighterException.Kind.DELAYED) == 1);
        test.answer(GatewayDouble.Fault.NONE);
        try {
            test.client.logOut();
            throw new AssertionError("it was sent");
        } catch (LamplighterException problem) {
            Checks.same("why", "the gateway asked to wait", problem.getMessage());
        }
        Checks.same("requests", 1, test.gateway.seen());
    }

    private static void catchesUp(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.client.follow("m");
        test.sent();
        String card = test.gateway.channel(test.client.getInstallId()).cards.get("m");
        test.client.catchUp();
        test.sent();
        Checks.that("another card", !card.equals(test.gateway.channel(test.client.getInstallId()).cards.get("m")));
    }

    private static void outFirst(OutboxTests test) throws Exception {
        test.client.optOut();
        test.client.setAddress("a:1");
        test.client.follow("m");
        Checks.that("nothing waits", test.client.awaitSent(0));
        test.client.optIn();
        test.calls("PUT channel", "PUT follow m");
    }

    private static void bounded(OutboxTests test) throws Exception {
        for (int name = 0; name < OutboxState.MOST_NAMES + 5; name++) test.client.follow("name-" + name);
        Checks.same("names", OutboxState.MOST_NAMES, test.client.getNames().size());
        Checks.that("the oldest went", !test.client.getNames().contains("name-4"));
        Checks.same("told", 5L, test.told(LamplighterException.Kind.FULL));
        OutboxState state = new OutboxState("channel");
        for (int name = 0; name < OutboxState.MOST_ENTRIES + 5; name++) {
            state = OutboxState.read(follow(state, "name-" + name).stored());
            state.unfollow("name-" + name);
        }
        Checks.same("entries", OutboxState.MOST_ENTRIES, state.entryCount());
    }

    private static OutboxState follow(OutboxState state, String name) {
        state.follow(name);
        return state;
    }

    private static void cancels(OutboxTests test) throws Exception {
        test.client.follow("a");
        test.client.unfollow("a");
        test.client.setAddress("a:1");
        test.calls("PUT channel");
        // The answer is lost, so the gateway may know of it.
        test.gateway.faults = (number, call) ->
            call.startsWith("PUT") ? GatewayDouble.Fault.ANSWER_LOST : GatewayDouble.Fault.ERROR;
        test.client.follow("b");
        Checks.eventually("the gateway knows b", () -> test.names().contains("b"));
        test.client.unfollow("b");
        test.works();
        Checks.same("names", new TreeSet<String>(), test.names());
        // An end that waits is of the card before.
        test.client.follow("c");
        test.sent();
        test.answer(GatewayDouble.Fault.RESET);
        test.client.unfollow("c");
        test.client.follow("c");
        test.client.unfollow("c");
        test.works();
        Checks.same("names", new TreeSet<String>(), test.names());
        test.answer(GatewayDouble.Fault.RESET);
        test.client.follow("d");
        test.client.unfollow("d");
        test.client.follow("d");
        test.works();
        Checks.same("names", new TreeSet<>(Collections.singleton("d")), test.names());
    }

    private static void waits(OutboxTests test, GatewayDouble.Fault fault) throws Exception {
        test.answer(fault);
        test.client.setAddress("a:1");
        test.client.follow("m");
        Checks.eventually("two attempts", () -> test.gateway.seen() >= 2);
        Checks.that("nothing is dropped", !test.client.awaitSent(0));
        test.relaunch();
        test.client.setAddress("a:2");
        test.works();
        Checks.same("the address", "a:2", test.address());
        Checks.same("names", new TreeSet<>(Collections.singleton("m")), test.names());
        Checks.same("refused", 0L, test.told(LamplighterException.Kind.REFUSED));
        Checks.that("told once a launch", test.told(LamplighterException.Kind.DELAYED) <= 2);
    }

    private static void refusal(OutboxTests test) throws Exception {
        test.gateway.faults = (number, call) ->
            call.equals("PUT follow bad") ? GatewayDouble.Fault.REFUSED : GatewayDouble.Fault.NONE;
        test.client.setAddress("a:1");
        test.client.follow("bad");
        test.client.follow("good");
        test.calls("PUT channel", "PUT follow good");
        Checks.same("told", 1L, test.told(LamplighterException.Kind.REFUSED));
        Checks.same("names", Collections.singletonList("good"), test.client.getNames());
        test.answer(GatewayDouble.Fault.REFUSED);
        test.client.setAddress("a:2");
        test.sent();
        test.answer(GatewayDouble.Fault.NONE);
        test.client.setAddress("a:2");
        test.sent();
        Checks.same("the next launch's call reports it", "a:2", test.address());
    }

    private static void tokens(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.sent();
        test.gateway.tokens.add("token-2");
        test.client.follow("m");
        test.sent();
        Checks.same("tokens", 2, test.tokens.get());
        Checks.same("problems", 0, test.problems.size());
        for (String bad : new String[] {null, "", "two\nlines"}) {
            test.client.close();
            test.problems.clear();
            test.client = test.launch(test.folder, channel -> bad, test.clock);
            test.client.setAddress("secret:" + bad);
            Checks.eventually("told", () -> test.told(LamplighterException.Kind.DELAYED) == 1);
            Checks.that("" + test.problems, test.problems.get(0).getMessage().contains("your app's backend"));
            Checks.that("the address is in no text", !test.problems.get(0).getMessage().contains("secret"));
        }
    }

    private static void out(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.client.follow("m");
        test.sent();
        test.client.optOut();
        test.sent();
        Checks.same("the address", null, test.address());
        Checks.same("names", new TreeSet<String>(), test.names());
        test.relaunch();
        test.client.setAddress("a:2");
        test.client.follow("n");
        Checks.that("nothing waits", test.client.awaitSent(0));
        Checks.that("nothing is shown", test.client.receive(ValueTests.data("start", 10, "id")) == null);
        test.client.optIn();
        test.sent();
        Checks.same("the address", "a:2", test.address());
        Checks.same("names", new TreeSet<>(Arrays.asList("m", "n")), test.names());
    }

    private static void logOut(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.client.follow("m");
        test.client.receive(ValueTests.data("start", 10, "id"));
        test.sent();
        String first = test.client.getInstallId();
        test.answer(GatewayDouble.Fault.RESET);
        try {
            test.client.logOut();
            throw new AssertionError("it worked without a gateway");
        } catch (LamplighterException problem) {
            Checks.same("kind", LamplighterException.Kind.DELAYED, problem.getKind());
        }
        Checks.same("the channel", first, test.client.getInstallId());
        test.relaunch();
        test.answer(GatewayDouble.Fault.NONE);
        test.client.logOut();
        Checks.that("another channel", !first.equals(test.client.getInstallId()));
        Checks.same("the address of the first", null, test.gateway.channel(first).address);
        Checks.same("names of the first", new TreeSet<String>(), test.gateway.names(first));
        test.sent();
        Checks.same("the address", "a:1", test.address());
        Checks.same("names", Collections.emptyList(), test.client.getNames());
        String late = "{\"name\":\"m\",\"event\":\"start\",\"timestamp\":99}";
        Checks.that("a message for the user before", test.client.receive(ValueTests.data(late, "id-2", first)) == null);
        // The next user's cards know nothing of the last one's.
        Checks.that("an older start", test.client.receive(ValueTests.data("start", 9, "id")) != null);
        test.relaunch();
        Checks.that("it is kept", !first.equals(test.client.getInstallId()));
    }

    private static void messages(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.sent();
        Checks.that("a start", test.client.receive(ValueTests.data("start", 10, "id-1")) != null);
        Checks.same("names", Collections.singletonList("match-42"), test.client.getNames());
        test.sent();
        Checks.same("at the gateway", new TreeSet<>(Collections.singleton("match-42")), test.names());
        Checks.that("an update", test.client.receive(ValueTests.data("update", 12, "id-2")) != null);
        test.relaunch();
        Checks.that("twice", test.client.receive(ValueTests.data("update", 12, "id-2")) == null);
        Checks.that("late", test.client.receive(ValueTests.data("update", 11, "id-3")) == null);
        Checks.that("not ours", test.client.receive(Collections.<String, String>emptyMap()) == null);
        Checks.that("not to be read", test.client.receive(ValueTests.data("{", "id-4", null)) == null);
        Checks.same("told", 1L, test.told(LamplighterException.Kind.MESSAGE));
        Checks.that("an end", test.client.receive(ValueTests.data("end", 13, "id-5")) != null);
        Checks.same("names", Collections.emptyList(), test.client.getNames());
        test.sent();
        Checks.same("at the gateway", new TreeSet<String>(), test.names());
    }

    private static void damaged(OutboxTests test) throws Exception {
        test.client.setAddress("a:1");
        test.client.close();
        Disk disk = new Disk();
        for (String file : new String[] {"outbox.json", "cards.json"}) {
            disk.write(new File(test.folder, file), "{\"channel\":\"x\"\0", true);
        }
        test.client = test.launch();
        Checks.same("told", 2L, test.told(LamplighterException.Kind.STORAGE));
        Checks.that("aside", new File(test.folder, "outbox.json.damaged").exists());
        test.client.setAddress("a:2");
        test.client.follow("m");
        test.sent();
        Checks.same("the address", "a:2", test.address());
    }

    private static void withoutDisk(OutboxTests test) throws Exception {
        test.client.close();
        File notAFolder = new File(test.folder, "file");
        new Disk().write(notAFolder, "", false);
        test.client = test.launch(notAFolder, channel -> "token", test.clock);
        test.client.setAddress("a:1");
        test.client.unfollow("m");
        test.sent();
        Checks.same("the address", "a:1", test.address());
        Checks.same("told once", 1L, test.told(LamplighterException.Kind.STORAGE));
        Checks.that("the disk is back", notAFolder.delete());
        Checks.eventually("it is written without another change", () -> new File(notAFolder, "outbox.json").exists());
        Lamplighter next = test.launch(notAFolder, channel -> "token", test.clock);
        Checks.same("all of it is on disk", test.client.getInstallId(), next.getInstallId());
        next.close();
    }
}
