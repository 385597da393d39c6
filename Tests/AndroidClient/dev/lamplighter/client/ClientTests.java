package dev.lamplighter.client;

/** Runs every check: {@code ClientTests KILLS STEPS SEED}. */
final class ClientTests {
    private ClientTests() {}

    public static void main(String[] arguments) throws Exception {
        int kills = Integer.parseInt(arguments[0]);
        int steps = Integer.parseInt(arguments[1]);
        long seed = Long.parseLong(arguments[2]);
        ValueTests.all();
        OutboxTests.all();
        Checks.named("nothing is lost when a process dies at a step", () -> KillTests.atChosenSteps(steps, seed));
        Checks.named("nothing is lost when the app is killed again and again", () -> KillTests.bySignal(kills, seed));
        System.out.println("ClientTests: " + Checks.count() + " checks");
        System.exit(0);
    }
}
