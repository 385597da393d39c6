package dev.lamplighter.client;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Decides which messages are shown: FCM delivers twice, late and out of order. A value without clock or I/O.
 *
 * <p>The seconds of a name's pushes rise, so an older second is an older state.
 */
final class Cards {
    private static final class Card {
        /** The newest second that a message of the name had. */
        long newest;
        /** An end up to this second is of an earlier card. */
        long floor;
        String type;
        boolean isShown;
    }

    /** How many canonical ids are remembered. */
    static final int MOST_IDS = 10;
    static final int MOST_CARDS = 600;
    private final List<String> ids = new ArrayList<>();
    private final Map<String, Card> cards = new LinkedHashMap<>();

    /** The app follows a name anew: any state is news for its card. */
    void begin(String name) {
        Card card = card(name);
        card.floor = card.newest;
        card.isShown = false;
    }

    /**
     * @param isFollowed whether the app follows the name
     * @return the update as the app should show it, or null
     */
    LiveUpdate accept(LiveUpdate update, boolean isFollowed) {
        if (update.canonicalId() != null && ids.contains(update.canonicalId())) return null;
        Card known = cards.get(update.getName());
        LiveUpdate shown = update;
        if (update.getEvent() == LiveUpdate.Event.START) {
            if (known != null && !isNews(update, known, isFollowed)) return null;
            Card card = card(update.getName());
            card.floor = update.getTimestamp() - 1;
            card.type = update.getType();
            card.isShown = true;
        } else {
            // The app stopped following, and the gateway does not know it yet.
            if (!isFollowed) return null;
            Card card = card(update.getName());
            boolean isOld = update.getTimestamp() < (card.isShown ? card.newest : card.floor);
            if (update.getEvent() == LiveUpdate.Event.UPDATE) {
                if (isOld) return null;
                card.isShown = true;
            } else {
                if (update.getTimestamp() <= card.floor) return null;
                // An end that is late ends the card, and its content is old.
                if (isOld) shown = update.withoutContentState();
                card.isShown = false;
            }
        }
        Card card = card(update.getName());
        card.newest = Math.max(card.newest, update.getTimestamp());
        if (update.getEvent() == LiveUpdate.Event.END) card.floor = card.newest;
        if (update.canonicalId() != null) ids.add(update.canonicalId());
        if (ids.size() > MOST_IDS) ids.remove(0);
        return shown;
    }

    /** A start that is repeated makes no second card, and a late one brings no ended card back. */
    private static boolean isNews(LiveUpdate start, Card known, boolean isFollowed) {
        if (!isFollowed) return start.getTimestamp() > known.newest;
        if (!known.isShown) return start.getTimestamp() > known.floor;
        boolean isSameType = start.getType() == null ? known.type == null : start.getType().equals(known.type);
        return !isSameType && start.getTimestamp() >= known.newest;
    }

    private Card card(String name) {
        Card card = cards.remove(name);
        if (card == null) card = new Card();
        // The card that was used last is the last one.
        cards.put(name, card);
        if (cards.size() > MOST_CARDS) cards.remove(cards.keySet().iterator().next());
        return card;
    }

    void forgetAll() {
        ids.clear();
        cards.clear();
    }

    String stored() {
        StringBuilder out = new StringBuilder("{\"ids\":[");
        String comma = "";
        for (String id : ids) {
            out.append(comma).append(Json.quoted(id));
            comma = ",";
        }
        out.append("],\"cards\":[");
        comma = "";
        for (Map.Entry<String, Card> card : cards.entrySet()) {
            out.append(comma).append("{\"name\":").append(Json.quoted(card.getKey()));
            out.append(",\"newest\":").append(card.getValue().newest);
            out.append(",\"floor\":").append(card.getValue().floor);
            if (card.getValue().type != null) out.append(",\"type\":").append(Json.quoted(card.getValue().type));
            out.append(",\"shown\":").append(card.getValue().isShown).append('}');
            comma = ",";
        }
        return out.append("]}\n").toString();
    }

    static Cards read(String text) throws Json.Malformed {
        Json json = Json.read(text);
        Cards cards = new Cards();
        if (json.get("ids") == null || json.get("cards") == null) throw new Json.Malformed("no cards", 0);
        for (Json id : json.get("ids").elements()) cards.ids.add(id.string());
        for (Json stored : json.get("cards").elements()) {
            Json name = stored.get("name");
            Json newest = stored.get("newest");
            Json floor = stored.get("floor");
            if (name == null || name.string() == null || newest == null || newest.whole() == null || floor == null
                || floor.whole() == null) {
                throw new Json.Malformed("no card", 0);
            }
            Card card = cards.card(name.string());
            card.newest = newest.whole();
            card.floor = floor.whole();
            card.type = stored.get("type") == null ? null : stored.get("type").string();
            card.isShown = stored.get("shown") != null && stored.get("shown").isTrue();
        }
        return cards;
    }
}
