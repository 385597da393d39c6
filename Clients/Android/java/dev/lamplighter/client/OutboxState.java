package dev.lamplighter.client;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The state of the outbox on disk, and the rules of its changes. A value without clock or I/O.
 *
 * <p>The stored form is read by later versions of the app: a new member must be optional.
 */
final class OutboxState {
    enum Report {
        /** The channel has this address and shows notifications, or not. */
        CHANNEL,
        FOLLOW,
        UNFOLLOW
    }

    /** A fact that the gateway must learn. */
    static final class Entry {
        /** Differs for each entry, also of one name. */
        final long number;
        final Report report;
        /** Null for the channel. */
        final String name;

        Entry(long number, Report report, String name) {
            this.number = number;
            this.report = report;
            this.name = name;
        }
    }

    /** A name that the app follows. */
    static final class Following {
        /** The card at the gateway. Another number is a new card, which gets the newest state. */
        long card;
        /** Epoch milliseconds of the gateway's last answer. 0: none yet. */
        long reportedAt;
        /** Whether the gateway may know of it. A killed process cannot tell, so after a launch it may. */
        boolean mayBeKnown;
    }

    static final int MOST_NAMES = 500;
    static final int MOST_ENTRIES = 1_000;
    /** Milliseconds after which the channel and the names are reported again, in case the gateway lost them. */
    static final long CHANNEL_AGE = 86_400_000;
    static final long NAME_AGE = 6 * 3_600_000;

    private String channel;
    /** FCM's registration token. Null: not known yet. */
    private String address;
    private boolean isShown = true;
    /** Epoch milliseconds at which the gateway had the channel's report. 0: it has none. */
    private long channelReportedAt;
    private boolean mayChannelBeKnown;
    private boolean isOut;
    private long lastNumber;
    private final Map<String, Following> names = new LinkedHashMap<>();
    private final List<Entry> entries = new ArrayList<>();
    /** How many entries made room since the developer was told. It is not on disk. */
    private int dropped;

    OutboxState(String channel) {
        this.channel = channel;
    }

    String channel() {
        return channel;
    }

    String address() {
        return isOut ? null : address;
    }

    boolean isShown() {
        return isShown && !isOut;
    }

    boolean isOut() {
        return isOut;
    }

    List<String> names() {
        return new ArrayList<>(names.keySet());
    }

    boolean isFollowing(String name) {
        return names.containsKey(name);
    }

    int entryCount() {
        return entries.size();
    }

    /** The first entry that can be sent. A follow needs an address. Null: there is none. */
    Entry next() {
        for (Entry entry : entries) {
            if (entry.report != Report.FOLLOW || address != null) return entry;
        }
        return null;
    }

    long card(String name) {
        Following following = names.get(name);
        return following == null ? 0 : following.card;
    }

    // Changes of the app.

    /** Adds a report in place of an older one of the same name, or of the channel. */
    private void add(Report report, String name) {
        take(name);
        entries.add(new Entry(++lastNumber, report, name));
        if (entries.size() > MOST_ENTRIES) {
            entries.remove(0);
            dropped++;
        }
    }

    /** Removes the entry of a name, or of the channel. Returns it, or null. */
    private Entry take(String name) {
        for (Iterator<Entry> all = entries.iterator(); all.hasNext();) {
            Entry entry = all.next();
            if (name == null ? entry.name == null : name.equals(entry.name)) {
                all.remove();
                return entry;
            }
        }
        return null;
    }

    private boolean isWaiting(String name) {
        for (Entry entry : entries) {
            if (name == null ? entry.name == null : name.equals(entry.name)) return true;
        }
        return false;
    }

    /** Does nothing if this token waits, or was reported within a day. */
    void setAddress(String token, long now) {
        boolean isSame = token.equals(address);
        address = token;
        if (isOut || isSame && (isWaiting(null) || isFresh(channelReportedAt, now, CHANNEL_AGE))) return;
        add(Report.CHANNEL, null);
    }

    void setShown(boolean isShown) {
        if (this.isShown == isShown) return;
        this.isShown = isShown;
        if (!isOut && address != null) add(Report.CHANNEL, null);
    }

    void follow(String name) {
        Following following = names.get(name);
        if (following == null) {
            following = new Following();
            following.card = ++lastNumber;
            // The gateway may know the earlier card, whose end waits here.
            following.mayBeKnown = isWaiting(name);
            names.put(name, following);
            if (names.size() > MOST_NAMES) {
                unfollow(names.keySet().iterator().next());
                dropped++;
            }
        }
        if (!isOut) add(Report.FOLLOW, name);
    }

    /** Does nothing if the name is not followed. */
    void unfollow(String name) {
        Following following = names.remove(name);
        if (following != null && !isOut) end(name, following);
    }

    /** A follow that was never sent needs no end. */
    private void end(String name, Following following) {
        if (following.mayBeKnown) {
            add(Report.UNFOLLOW, name);
        } else {
            take(name);
        }
    }

    /** Asks for the newest state of each name, by a new card. */
    void catchUp() {
        if (isOut) return;
        for (Map.Entry<String, Following> name : names.entrySet()) {
            name.getValue().card = ++lastNumber;
            add(Report.FOLLOW, name.getKey());
        }
    }

    /** Reports again what is old. */
    void refresh(long now) {
        if (isOut || address == null) return;
        if (!isWaiting(null) && !isFresh(channelReportedAt, now, CHANNEL_AGE)) add(Report.CHANNEL, null);
        for (Map.Entry<String, Following> name : names.entrySet()) {
            if (!isWaiting(name.getKey()) && !isFresh(name.getValue().reportedAt, now, NAME_AGE)) {
                add(Report.FOLLOW, name.getKey());
            }
        }
    }

    /** A time ahead of now is of a clock that was set back, and is not believed. */
    private static boolean isFresh(long at, long now, long age) {
        return at <= now && now - at < age;
    }

    /** Reports the end of everything, and then nothing more. The names stay, for `optIn`. */
    void optOut() {
        if (isOut) return;
        for (Map.Entry<String, Following> name : names.entrySet()) end(name.getKey(), name.getValue());
        isOut = true;
        if (mayChannelBeKnown) {
            add(Report.CHANNEL, null);
        } else {
            take(null);
        }
    }

    void optIn() {
        if (!isOut) return;
        isOut = false;
        if (address != null) add(Report.CHANNEL, null);
        catchUp();
    }

    /** Begins another channel, with the same address and without names. */
    void replaceChannel(String channel) {
        this.channel = channel;
        names.clear();
        entries.clear();
        isOut = false;
        channelReportedAt = 0;
        mayChannelBeKnown = false;
        if (address != null) add(Report.CHANNEL, null);
    }

    // Around a request.

    /** The request may reach the gateway from now on. */
    void tried(Entry entry) {
        if (entry.report == Report.CHANNEL) {
            mayChannelBeKnown = true;
        } else if (entry.report == Report.FOLLOW && names.containsKey(entry.name)) {
            names.get(entry.name).mayBeKnown = true;
        }
    }

    /** @param card the card that the request named */
    void done(Entry entry, long card, long now) {
        boolean isNewest = remove(entry);
        if (entry.report == Report.CHANNEL) {
            if (isNewest) channelReportedAt = isOut ? 0 : now;
            return;
        }
        Following following = names.get(entry.name);
        if (following == null) return;
        if (entry.report == Report.FOLLOW) {
            if (following.card == card && isNewest) following.reportedAt = now;
        } else if (isNewest) {
            following.mayBeKnown = false;
            following.reportedAt = 0;
        }
    }

    /** The gateway never takes it. */
    void refused(Entry entry) {
        if (!remove(entry)) return;
        // Without the time the next `setAddress` reports it again.
        if (entry.report == Report.CHANNEL) channelReportedAt = 0;
        if (entry.report == Report.FOLLOW) names.remove(entry.name);
    }

    /** Returns false if a newer entry has taken its place. */
    private boolean remove(Entry entry) {
        for (Iterator<Entry> all = entries.iterator(); all.hasNext();) {
            if (all.next().number == entry.number) {
                all.remove();
                return true;
            }
        }
        return false;
    }

    /** The others go first, so that one report that fails again and again holds up none of them. */
    void postpone(Entry entry) {
        for (Iterator<Entry> all = entries.iterator(); all.hasNext();) {
            Entry waiting = all.next();
            if (waiting.number == entry.number) {
                all.remove();
                entries.add(waiting);
                return;
            }
        }
    }

    int takeDropped() {
        int count = dropped;
        dropped = 0;
        return count;
    }

    // The stored form.

    String stored() {
        StringBuilder out = new StringBuilder("{\"version\":1,\"channel\":").append(Json.quoted(channel));
        if (address != null) out.append(",\"address\":").append(Json.quoted(address));
        out.append(",\"shown\":").append(isShown).append(",\"out\":").append(isOut);
        out.append(",\"known\":").append(mayChannelBeKnown).append(",\"reported_at\":").append(channelReportedAt);
        out.append(",\"last\":").append(lastNumber).append(",\"names\":[");
        String comma = "";
        for (Map.Entry<String, Following> name : names.entrySet()) {
            out.append(comma).append("{\"name\":").append(Json.quoted(name.getKey()));
            out.append(",\"card\":").append(name.getValue().card);
            out.append(",\"reported_at\":").append(name.getValue().reportedAt).append('}');
            comma = ",";
        }
        out.append("],\"entries\":[");
        comma = "";
        for (Entry entry : entries) {
            out.append(comma).append("{\"number\":").append(entry.number);
            out.append(",\"report\":").append(Json.quoted(entry.report.name()));
            if (entry.name != null) out.append(",\"name\":").append(Json.quoted(entry.name));
            out.append('}');
            comma = ",";
        }
        return out.append("]}\n").toString();
    }

    static OutboxState read(String text) throws Json.Malformed {
        Json json = Json.read(text);
        OutboxState state = new OutboxState(required(json, "channel"));
        state.address = json.get("address") == null ? null : json.get("address").string();
        state.isShown = json.get("shown") == null || json.get("shown").isTrue();
        state.isOut = json.get("out") != null && json.get("out").isTrue();
        state.channelReportedAt = number(json, "reported_at");
        state.lastNumber = number(json, "last");
        for (Json name : list(json, "names")) {
            Following following = new Following();
            following.card = number(name, "card");
            following.reportedAt = number(name, "reported_at");
            // The process before may have sent it and then have been killed.
            following.mayBeKnown = true;
            state.names.put(required(name, "name"), following);
        }
        for (Json entry : list(json, "entries")) {
            Report report = report(required(entry, "report"));
            String name = report == Report.CHANNEL ? null : required(entry, "name");
            if (report == Report.CHANNEL) state.mayChannelBeKnown = true;
            state.entries.add(new Entry(number(entry, "number"), report, name));
        }
        if (json.get("known") != null && json.get("known").isTrue()) state.mayChannelBeKnown = true;
        return state;
    }

    private static Report report(String text) throws Json.Malformed {
        for (Report report : Report.values()) {
            if (report.name().equals(text)) return report;
        }
        throw new Json.Malformed("an unknown report", 0);
    }

    private static String required(Json json, String key) throws Json.Malformed {
        Json value = json.get(key);
        if (value == null || value.string() == null) throw new Json.Malformed("no " + key, 0);
        return value.string();
    }

    private static long number(Json json, String key) throws Json.Malformed {
        Json value = json.get(key);
        if (value == null || value.whole() == null) throw new Json.Malformed("no " + key, 0);
        return value.whole();
    }

    private static List<Json> list(Json json, String key) throws Json.Malformed {
        if (json.get(key) == null) throw new Json.Malformed("no " + key, 0);
        return json.get(key).elements();
    }
}
