package dev.lamplighter.client;

import java.io.File;
import java.util.Random;

/**
 * An app that a test kills: {@code KilledApp FOLDER GATEWAY SEED FIRST}. It prints what it found on disk, then each
 * word before it says it, and `done` when the word is on disk. `not done` is a `logOut` without a gateway. With the
 * seed {@code -} it says nothing, and ends when all is sent.
 */
final class KilledApp {
    private KilledApp() {}

    private static void print(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] arguments) throws Exception {
        Lamplighter client = new Lamplighter(
            arguments[1], "shop", new File(arguments[0]), channel -> "token", problem -> {
                if (problem.getKind() == LamplighterException.Kind.STORAGE) print("problem " + problem.getMessage());
            }, new Transport(200), new Fast(), new Disk());
        print("channel " + client.getInstallId());
        print("found " + App.of(client));
        if (arguments[2].equals("-")) {
            print(client.awaitSent(60_000_000) ? "sent" : "not sent");
            return;
        }
        Random random = new Random(Long.parseLong(arguments[2]));
        for (int number = Integer.parseInt(arguments[3]);; number++) {
            String word = App.word(random, number);
            print("says " + word);
            try {
                App.say(word, client);
                print("done");
            } catch (LamplighterException withoutGateway) {
                print("not done");
            }
            // Let some of the reports out before the next ones replace them.
            if (random.nextInt(4) == 0) Thread.sleep(random.nextInt(10));
        }
    }
}
