package dev.lamplighter.client;

import java.util.Map;

/** A push about a name, from the data of a message of FCM. */
public final class LiveUpdate {
    public enum Event {
        START,
        UPDATE,
        END
    }

    private static final String PUSH = "com.urbanairship.push.";
    private static final String CONTENT = "com.urbanairship.live_update";

    private final String name;
    private final Event event;
    private final String type;
    private final long timestamp;
    private final String contentState;
    private final Long dismissalDate;
    private final String pushId;
    private final String canonicalId;
    private final String channel;

    private LiveUpdate(Json json, Map<String, String> data) throws Json.Malformed {
        name = text(json, "name", true);
        event = event(text(json, "event", true));
        type = text(json, "type", false);
        Long at = whole(json, "timestamp");
        if (at == null) throw new Json.Malformed("no timestamp", 0);
        timestamp = at;
        contentState = contentState(json.get("content_state"));
        dismissalDate = whole(json, "dismissal_date");
        pushId = data.get(PUSH + "PUSH_ID");
        canonicalId = data.get(PUSH + "CANONICAL_PUSH_ID") == null ? pushId : data.get(PUSH + "CANONICAL_PUSH_ID");
        channel = data.get(PUSH + "APID");
    }

    private LiveUpdate(LiveUpdate other) {
        name = other.name;
        event = other.event;
        type = other.type;
        timestamp = other.timestamp;
        contentState = null;
        dismissalDate = other.dismissalDate;
        pushId = other.pushId;
        canonicalId = other.canonicalId;
        channel = other.channel;
    }

    /**
     * Reads the data of a message. {@link Lamplighter#receive} does it, and drops what is old.
     *
     * @return null if the message is no Live Update
     * @throws LamplighterException if it is one that cannot be read
     */
    public static LiveUpdate read(Map<String, String> data) throws LamplighterException {
        String content = data.get(CONTENT);
        if (content == null) return null;
        try {
            return new LiveUpdate(Json.read(content), data);
        } catch (Json.Malformed error) {
            throw new LamplighterException(
                LamplighterException.Kind.MESSAGE, "the Live Update of a message: " + error.getMessage());
        }
    }

    private static String text(Json json, String key, boolean isRequired) throws Json.Malformed {
        Json value = json.get(key);
        if (value == null && !isRequired) return null;
        if (value == null || value.string() == null || value.string().isEmpty()) {
            throw new Json.Malformed("no text " + key, 0);
        }
        return value.string();
    }

    private static Long whole(Json json, String key) throws Json.Malformed {
        Json value = json.get(key);
        if (value != null && value.whole() == null) throw new Json.Malformed(key + " is no whole number", 0);
        return value == null ? null : value.whole();
    }

    private static Event event(String text) throws Json.Malformed {
        switch (text) {
            case "start": return Event.START;
            case "update": return Event.UPDATE;
            case "end": return Event.END;
            default: throw new Json.Malformed("the unknown event " + text, 0);
        }
    }

    /** An object, or one that is written as a text. */
    private static String contentState(Json value) throws Json.Malformed {
        if (value == null || value.text().equals("null")) return null;
        Json object = value.string() == null ? value : Json.read(value.string());
        if (!object.isObject()) throw new Json.Malformed("content_state is no object", 0);
        return object.text();
    }

    LiveUpdate withoutContentState() {
        return new LiveUpdate(this);
    }

    public String getName() {
        return name;
    }

    public Event getEvent() {
        return event;
    }

    /** The kind of card, of a start. Null: the publisher named none. */
    public String getType() {
        return type;
    }

    /** Epoch seconds. They rise with each push of a name. */
    public long getTimestamp() {
        return timestamp;
    }

    /** A JSON object, as the publisher wrote it. Null: keep what the card shows. */
    public String getContentState() {
        return contentState;
    }

    /** Of an end: the epoch seconds at which the card should go. Null: the publisher named none. */
    public Long getDismissalDate() {
        return dismissalDate;
    }

    /** Null: the message named none. */
    public String getPushId() {
        return pushId;
    }

    /** Two messages with one id are one. */
    String canonicalId() {
        return canonicalId;
    }

    /** The channel that the message is for, or null. */
    String channel() {
        return channel;
    }
}
