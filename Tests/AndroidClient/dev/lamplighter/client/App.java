package dev.lamplighter.client;

import java.util.Random;
import java.util.TreeSet;

/** What an app said, and the app that says it at random. */
final class App {
    final TreeSet<String> names = new TreeSet<>();
    String address;
    boolean isOut;

    App() {}

    App(App other) {
        names.addAll(other.names);
        address = other.address;
        isOut = other.isOut;
    }

    /** What a client has on disk. */
    static App of(Lamplighter client) throws Exception {
        Json stored = Json.read(client.outbox.look(OutboxState::stored));
        App app = new App();
        for (Json name : stored.get("names").elements()) app.names.add(name.get("name").string());
        app.address = stored.get("address") == null ? null : stored.get("address").string();
        app.isOut = stored.get("out").isTrue();
        return app;
    }

    /** @param number no other word has it, so each token is new */
    static String word(Random random, int number) {
        int choice = random.nextInt(21);
        if (choice < 4) return "address token:" + number;
        if (choice < 11) return "follow match/" + random.nextInt(6);
        if (choice < 17) return "unfollow match/" + random.nextInt(6);
        return new String[] {"catchUp", "optOut", "optIn", "logOut"}[choice - 17];
    }

    void say(String word) {
        String[] parts = word.split(" ");
        switch (parts[0]) {
            case "address": address = parts[1]; break;
            case "follow": names.add(parts[1]); break;
            case "unfollow": names.remove(parts[1]); break;
            case "optOut": isOut = true; break;
            case "optIn": isOut = false; break;
            case "logOut":
                names.clear();
                isOut = false;
                break;
            default: break;
        }
    }

    static void say(String word, Lamplighter client) throws Exception {
        String[] parts = word.split(" ");
        switch (parts[0]) {
            case "address": client.setAddress(parts[1]); break;
            case "follow": client.follow(parts[1]); break;
            case "unfollow": client.unfollow(parts[1]); break;
            case "optOut": client.optOut(); break;
            case "optIn": client.optIn(); break;
            case "logOut":
                client.logOut();
                break;
            default: client.catchUp();
        }
    }

    /** The same when the gateway has it all. */
    String atGateway() {
        return (isOut ? null : address) + " " + (isOut ? new TreeSet<String>() : names);
    }

    static String atGateway(GatewayDouble gateway, String channel) {
        return gateway.channel(channel).address + " " + gateway.names(channel);
    }

    boolean isOneOf(App... others) {
        for (App other : others) {
            if (toString().equals(other.toString())) return true;
        }
        return false;
    }

    @Override
    public String toString() {
        return address + " " + names + (isOut ? " out" : "");
    }
}
