package dev.lamplighter.client;

import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.concurrent.TimeUnit;

/** Apps that are killed: nothing that a method's return said is kept may be lost. */
final class KillTests {
    private KillTests() {}

    private static GatewayDouble.Faults faults(long seed) {
        Random random = new Random(seed);
        GatewayDouble.Fault[] all = {
            GatewayDouble.Fault.ERROR, GatewayDouble.Fault.BUSY, GatewayDouble.Fault.HANGS, GatewayDouble.Fault.RESET,
            GatewayDouble.Fault.ANSWER_LOST, GatewayDouble.Fault.ANSWER_LOST, GatewayDouble.Fault.ANSWER_CUT,
            GatewayDouble.Fault.PORTAL, GatewayDouble.Fault.PROXY_WITHOUT_GATEWAY, GatewayDouble.Fault.REDIRECT,
            GatewayDouble.Fault.UNAUTHORIZED,
        };
        return (number, call) -> {
            synchronized (random) {
                return random.nextInt(3) > 0 ? GatewayDouble.Fault.NONE : all[random.nextInt(all.length)];
            }
        };
    }

    private static Lamplighter client(GatewayDouble gateway, File folder, Killed.Process process) {
        return new Lamplighter(
            gateway.url(), "shop", folder, channel -> "token", problem -> {
                boolean isOfDisk = problem.getKind() == LamplighterException.Kind.STORAGE;
                if (isOfDisk) new AssertionError(problem.getMessage()).printStackTrace();
                if (isOfDisk) System.exit(1);
            }, process.new DyingTransport(100), new Fast(), process.new DyingDisk());
    }

    /** Processes within this JVM, which die at a step: in the middle of a write, around a rename or a request. */
    static void atChosenSteps(int kills, long seed) throws Exception {
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            if (!(error instanceof Killed)) {
                error.printStackTrace();
                System.exit(1);
            }
        });
        Random random = new Random(seed);
        File folder = Checks.folder();
        App app = new App();
        int number = 0;
        try (GatewayDouble gateway = new GatewayDouble()) {
            gateway.faults = faults(seed);
            for (int kill = 0; kill < kills; kill++) {
                String where = "seed " + seed + ", kill " + kill;
                Killed.Process process = new Killed.Process(random, random.nextInt(25));
                try {
                    Lamplighter client = client(gateway, folder, process);
                    process.has(client);
                    Checks.same(where, app.toString(), App.of(client).toString());
                    for (int words = random.nextInt(12); words > 0 && !process.isDead(); words--) {
                        app = say(App.word(random, number++), app, client, process, gateway, folder, where);
                        if (random.nextInt(3) == 0) Thread.sleep(random.nextInt(3));
                    }
                } catch (Killed inTheConstructor) {
                    // It said nothing.
                }
                process.kill();
                if (kill % 50 == 49 || kill == kills - 1) checkGateway(gateway, folder, app, where);
            }
            System.out.println("KillTests: " + kills + " processes died at a step, " + number + " words, "
                + gateway.seen() + " requests");
        }
    }

    /** Says one word, in which the process may die. Returns what the app has said then. */
    private static App say(
        String word, App before, Lamplighter client, Killed.Process process, GatewayDouble gateway, File folder,
        String where) throws Exception {
        String channel = client.getInstallId();
        App after = new App(before);
        after.say(word);
        App out = new App(before);
        out.say("optOut");
        try {
            App.say(word, client);
            if (word.equals("logOut")) {
                Checks.same(where + ", the user before", "null []", App.atGateway(gateway, channel));
            }
            return after;
        } catch (LamplighterException | Killed error) {
            // There is no gateway now.
            if (error instanceof LamplighterException && !process.isDead()) return out;
            process.kill();
            App found = App.of(read(folder, gateway));
            boolean isOne = found.isOneOf(before, after, word.equals("logOut") ? out : after);
            Checks.that(where + ", " + word + ": " + found + " after " + before, isOne);
            return found;
        }
    }

    /** A client that only reads. */
    private static Lamplighter read(File folder, GatewayDouble gateway) {
        Killed.Process process = new Killed.Process(new Random(), -1);
        Lamplighter client = new Lamplighter(
            gateway.url(), "shop", folder, channel -> {
                throw new IllegalStateException("it sends nothing");
            }, problem -> {}, process.new DyingTransport(100), new Clock(), process.new DyingDisk());
        client.close();
        return client;
    }

    private static void checkGateway(GatewayDouble gateway, File folder, App app, String where) throws Exception {
        Killed.Process process = new Killed.Process(new Random(), -1);
        Lamplighter client = client(gateway, folder, process);
        Checks.that(where + ": not sent", client.awaitSent(60_000_000));
        Checks.same(where, app.atGateway(), App.atGateway(gateway, client.getInstallId()));
        process.kill();
    }

    /** A JVM for each app, ended by SIGKILL at any moment. */
    static void bySignal(int kills, long seed) throws Exception {
        Random random = new Random(seed);
        File folder = Checks.folder();
        App app = new App();
        int number = 0;
        try (GatewayDouble gateway = new GatewayDouble()) {
            gateway.faults = faults(seed);
            for (int kill = 0; kill < kills; kill++) {
                String where = "seed " + seed + ", kill " + kill;
                Process process = launch(folder, gateway, "" + random.nextLong(), "" + number);
                Heard heard = new Heard(app, number);
                try (BufferedReader out = lines(process)) {
                    Checks.that(where + ": no channel", ("" + out.readLine()).startsWith("channel "));
                    Checks.same(where, "found " + app, out.readLine());
                    // From now on it may die anywhere.
                    killLater(process, random.nextInt(random.nextInt(4) == 0 ? 500_000 : 50_000));
                    for (String line; (line = out.readLine()) != null;) heard.line(line);
                }
                Checks.same(where + ": exit code", 137, process.waitFor());
                gateway.awaitQuiet();
                App found = App.of(read(folder, gateway));
                String what = where + ", " + heard.unfinished + ": " + found + " after " + heard.app;
                Checks.that(what, heard.allows(found));
                app = found;
                number = heard.number;
                if (kill % 50 == 49 || kill == kills - 1) checkApp(gateway, folder, app, where);
            }
            System.out.println("KillTests: " + kills + " apps killed by signal, " + number + " words, "
                + gateway.seen() + " requests");
        }
    }

    /** What a killed app printed. */
    private static final class Heard {
        App app;
        /** The word that it was saying. The pipe may have cut it off. */
        String unfinished;
        int number;

        Heard(App app, int number) {
            this.app = app;
            this.number = number;
        }

        void line(String line) {
            Checks.that(line, !line.startsWith("problem"));
            if (line.startsWith("says ")) {
                unfinished = line.substring("says ".length());
                number++;
            } else if (line.endsWith("done")) {
                app = new App(app);
                app.say(line.equals("done") ? unfinished : "optOut");
                unfinished = null;
            }
        }

        /** Only the disk knows whether it had said the last word. */
        boolean allows(App found) {
            if (unfinished == null) return found.isOneOf(app);
            App after = new App(app);
            after.say(unfinished);
            App out = new App(app);
            out.say("optOut");
            return found.isOneOf(app, after, unfinished.equals("logOut") ? out : after);
        }
    }

    private static void killLater(Process process, long microseconds) {
        new Thread(() -> {
            try {
                TimeUnit.MICROSECONDS.sleep(microseconds);
            } catch (InterruptedException ended) {
                return;
            }
            // Not `destroyForcibly` of the process: that closes the pipe with the words in it.
            process.toHandle().destroyForcibly();
        }).start();
    }

    /** The app sends what waits, and the gateway then has all that it said. */
    private static void checkApp(GatewayDouble gateway, File folder, App app, String where) throws Exception {
        Process last = launch(folder, gateway, "-", "0");
        try (BufferedReader out = lines(last)) {
            String channel = out.readLine().substring("channel ".length());
            Checks.same(where, "found " + app, out.readLine());
            Checks.same(where, "sent", out.readLine());
            Checks.same(where, app.atGateway(), App.atGateway(gateway, channel));
        }
        last.waitFor();
    }

    private static BufferedReader lines(Process process) {
        return new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    }

    private static Process launch(File folder, GatewayDouble gateway, String seed, String first) throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        return new ProcessBuilder(
            java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m", "-cp",
            System.getProperty("java.class.path"), "dev.lamplighter.client.KilledApp", folder.getPath(), gateway.url(),
            seed, first)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }
}
