package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import quizglass.v1.Segment;
import quizglass.v1.SpeechStatus;
import quizglass.v1.TurnUpdate;

/** One turn, followed as it comes on a thread of its own. */
final class Following {
  private static final long WAIT_S = 20;

  final Turn turn;
  final List<TurnUpdate> updates = new CopyOnWriteArrayList<>();

  /** Bytes of sound by segment. */
  private final Map<Integer, Integer> sounds = new ConcurrentSkipListMap<>();

  /** How far a spoken question came, LISTENING left out. */
  private final List<String> states = new CopyOnWriteArrayList<>();

  private volatile String heard = "";
  private final CompletableFuture<ClientException> outcome = new CompletableFuture<>();

  Following(Turn turn) {
    this.turn = turn;
    new Thread(this::follow, "follow " + turn.id()).start();
  }

  private void follow() {
    try {
      for (TurnSaid said : turn) take(said);
      turn.answer();
      outcome.complete(null);
    } catch (ClientException error) {
      outcome.complete(error);
    }
  }

  private void take(TurnSaid said) {
    if (said instanceof TurnSaid.Updated updated) updates.add(updated.update());
    if (said instanceof TurnSaid.Heard what && what.transcript().getFinal()) heard = what.transcript().getText();
    if (said instanceof TurnSaid.Listening listening && listening.status().getState() != SpeechStatus.State.STATE_LISTENING) {
      states.add(listening.status().getState().name().replace("STATE_", ""));
    }
    if (said instanceof TurnSaid.Sounding sounding) {
      sounds.merge(sounding.audio().getSegment(), sounding.audio().getData().size(), Integer::sum);
    }
  }

  /** Wait until it is over; what it has failed with, or null. */
  ClientException over() throws Exception {
    return outcome.get(WAIT_S, TimeUnit.SECONDS);
  }

  /** The final transcript of a spoken question, as far as it came. */
  String heard() {
    return heard;
  }

  /** How many changes of a spoken question came. */
  int states() {
    return states.size();
  }

  /** The last word about each segment. */
  Map<Integer, Segment> segments() {
    Map<Integer, Segment> last = new TreeMap<>();
    for (TurnUpdate update : updates) {
      for (Segment segment : update.getSegmentsList()) {
        Segment before = last.get(segment.getIndex());
        boolean open = before == null || before.getState() == Segment.State.STATE_DRAFT;
        assertTrue(open, "what is confirmed or retracted has changed");
        boolean whole = before == null || !segment.getText().isEmpty();
        last.put(segment.getIndex(), whole ? segment : segment.toBuilder().setText(before.getText()).build());
      }
    }
    return last;
  }

  /** Every event of it, once and in order. */
  void check(JsonObject expected) throws Exception {
    ClientException error = over();
    List<String> kinds = new ArrayList<>();
    for (int at = 0; at < updates.size(); at++) {
      assertEquals(at + 1, updates.get(at).getEvent().getSeq(), "number of an event");
      String kind = updates.get(at).getEvent().getEventCase().name().toLowerCase(Locale.ROOT);
      if (kinds.isEmpty() || !kinds.get(kinds.size() - 1).equals(kind)) kinds.add(kind);
    }
    if (expected.has("heard")) assertEquals(expected.get("heard").getAsString(), heard);
    if (expected.has("states")) assertEquals(strings(expected.get("states")), states);
    if (expected.has("error")) {
      assertEquals(expected.get("error").getAsString(), error == null ? "none" : error.getClass().getSimpleName());
      if (expected.has("reason")) assertEquals(expected.get("reason").getAsString(), error.reason());
      if (expected.has("field")) assertEquals(expected.get("field").getAsString(), error.field());
      return;
    }
    if (error != null) throw error;
    if (expected.has("sounds")) assertEquals(strings(expected.get("sounds")), strings(sounds.values()));
    if (expected.has("events")) assertEquals(strings(expected.get("events")), kinds);
    StringBuilder confirmed = new StringBuilder();
    for (Segment segment : segments().values()) {
      if (segment.getState() == Segment.State.STATE_CONFIRMED) confirmed.append(segment.getText());
    }
    assertEquals(expected.get("text").getAsString(), turn.answer().text());
    String said = expected.has("said") ? "said" : "text";
    assertEquals(expected.get(said).getAsString(), confirmed.toString().strip());
  }

  static List<String> strings(JsonElement array) {
    List<String> all = new ArrayList<>();
    array.getAsJsonArray().forEach(each -> all.add(each.getAsString()));
    return all;
  }

  private static List<String> strings(Collection<Integer> numbers) {
    return numbers.stream().map(String::valueOf).toList();
  }
}
