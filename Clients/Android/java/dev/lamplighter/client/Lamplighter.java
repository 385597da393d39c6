package dev.lamplighter.client;

import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/**
 * Tells the gateway which names this install follows and at which address, and reads its messages. Make one at launch,
 * and only one for a folder.
 *
 * <p>A method returns when its report is on disk, which takes some milliseconds. A report waits there until the gateway
 * has answered, across launches. The methods may be called on any thread.
 */
public final class Lamplighter {
    final Outbox outbox;
    private final Cards cards;
    private final File cardsFile;
    private final Disk disk;
    private final ProblemListener listener;

    /**
     * @param url the gateway's address
     * @param folder the client's own folder, which no backup may copy. On Android use
     *     {@code dev.lamplighter.client.android.LamplighterAndroid}.
     * @param backend asks the app's backend for a token of a channel
     * @param listener gets what a developer should know
     */
    public Lamplighter(String url, String appKey, File folder, Backend backend, ProblemListener listener) {
        this(url, appKey, folder, backend, listener, new Transport(30_000), new Clock(), new Disk());
    }

    Lamplighter(
        String url, String appKey, File folder, Backend backend, ProblemListener listener, Transport transport,
        Clock clock, Disk disk) {
        this.disk = disk;
        this.listener = listener;
        cardsFile = new File(folder, "cards.json");
        Gateway gateway = new Gateway(url, appKey, backend, transport, clock);
        outbox = new Outbox(folder, disk, gateway, clock, listener);
        cards = loadCards();
        outbox.start();
    }

    private Cards loadCards() {
        try {
            String text = disk.read(cardsFile);
            if (text != null) return Cards.read(text);
        } catch (IOException | Json.Malformed error) {
            // At worst a message is shown twice.
            listener.onProblem(new LamplighterException(
                LamplighterException.Kind.STORAGE, "what the cards show could not be read: " + error.getMessage()));
        }
        return new Cards();
    }

    private static String checked(String text, String what) {
        if (text == null || text.isEmpty()) throw new IllegalArgumentException("no " + what);
        for (int i = 0; i < text.length(); i++) {
            if (Json.isLone(text, i)) throw new IllegalArgumentException("the " + what + " has half of a character");
        }
        return text;
    }

    /**
     * FCM's registration token of this install. Call it in {@code onNewToken}, and at each launch. A new token is one
     * call for all names. The same one is reported once a day.
     */
    public void setAddress(String token) {
        outbox.setAddress(checked(token, "token"));
    }

    /** Whether the user lets this app show notifications. Call it when the app comes to the foreground. */
    public void setNotificationsShown(boolean isShown) {
        outbox.setShown(isShown);
    }

    /**
     * Follows a name, such as {@code match-42}. The gateway sends its newest state at once, if this install did not
     * follow it. Nothing is sent before {@link #setAddress}.
     */
    public void follow(String name) {
        checked(name, "name");
        synchronized (cards) {
            boolean isFollowed = outbox.look(state -> state.isFollowing(name));
            outbox.follow(name, false);
            if (isFollowed) return;
            cards.begin(name);
            saveCards();
        }
    }

    /** Stops following a name. Call it too when the user swipes its notification away. */
    public void unfollow(String name) {
        outbox.unfollow(checked(name, "name"), false);
    }

    /** The names that this install follows. An {@code end} removes its name. */
    public List<String> getNames() {
        return outbox.look(OutboxState::names);
    }

    /** The channel of this install, for your backend: it may tag it. */
    public String getInstallId() {
        return outbox.look(OutboxState::channel);
    }

    /**
     * Asks for the newest state of each name: FCM dropped messages ({@code onDeletedMessages}). Each name is followed
     * again as a new card, because the gateway sends the newest state to a card that joins late.
     */
    public void catchUp() {
        outbox.catchUp();
    }

    /**
     * Reads the data of a message of FCM. A start follows its name, an end stops following it.
     *
     * @return what to show; null if the message is no Live Update, came twice, or is older than what the card shows
     */
    public LiveUpdate receive(Map<String, String> data) {
        final LiveUpdate update;
        try {
            update = LiveUpdate.read(data);
        } catch (LamplighterException problem) {
            listener.onProblem(problem);
            return null;
        }
        if (update == null || outbox.look(OutboxState::isOut)) return null;
        // A message for the channel of the user before.
        if (update.channel() != null && !update.channel().equals(getInstallId())) return null;
        synchronized (cards) {
            LiveUpdate shown = cards.accept(update, outbox.look(state -> state.isFollowing(update.getName())));
            if (shown == null) return null;
            if (shown.getEvent() == LiveUpdate.Event.START) outbox.follow(shown.getName(), true);
            if (shown.getEvent() == LiveUpdate.Event.END) outbox.unfollow(shown.getName(), true);
            saveCards();
            return shown;
        }
    }

    /** Not synced: after a loss of power a message may be shown twice. */
    private void saveCards() {
        try {
            disk.write(cardsFile, cards.stored(), false);
        } catch (IOException error) {
            listener.onProblem(new LamplighterException(LamplighterException.Kind.STORAGE, "" + error.getMessage()));
        }
    }

    /**
     * The gateway ends all that this install follows and forgets its address, and nothing more is reported until
     * {@link #optIn}, across launches. The names are kept. Notifications stay, and stand still.
     */
    public void optOut() {
        outbox.optOut();
    }

    /** Follows again, after {@link #optOut}. */
    public void optIn() {
        outbox.optIn();
    }

    /**
     * Gives this install another channel without names, for the next user. Call it before your backend signs the user
     * out, because it asks for one more token of the last channel, and not on the main thread, because it waits for the
     * gateway. Remove the user's notifications first.
     *
     * @throws LamplighterException if the gateway does not answer now. Then it is as after {@link #optOut}. Call it
     *     again.
     */
    public void logOut() throws LamplighterException, InterruptedException {
        outbox.optOut();
        outbox.settle();
        outbox.replaceChannel();
        synchronized (cards) {
            cards.forgetAll();
            saveCards();
        }
    }

    /**
     * Tries at once to send what waits, unless the gateway asked to wait. Call it when the phone is online again, and
     * when the app comes to the foreground.
     */
    public void retryNow() {
        outbox.retryNow();
    }

    /** Waits until nothing is left to send. Returns false if the milliseconds were over before. */
    public boolean awaitSent(long milliseconds) throws InterruptedException {
        return outbox.awaitSent(milliseconds);
    }

    /** Ends the client's thread. Reports that wait go out after the next launch. */
    public void close() {
        outbox.close();
    }
}
