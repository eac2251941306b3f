package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import quizglass.v1.AskRequest;
import quizglass.v1.Exchange;
import quizglass.v1.SpeechStart;

/** A microphone that stays open: when its turns come, what it takes, and how it ends. */
@Timeout(60)
class ListenTest {
  private static final JsonObject HEARS = JsonParser.parseString("{\"hears\": [\"What is this?\", \"And this?\"]}").getAsJsonObject();
  private static final JsonArray QUESTION = JsonParser.parseString("[[220, 1], [0, 1]]").getAsJsonArray();
  private static Stage stage;

  @BeforeAll
  static void begin() throws IOException {
    stage = Stage.shared();
  }

  private static Session open() {
    return Session.open(stage.begin(HEARS), Stage.PATIENT, news -> {});
  }

  private static OpenMicrophone listen(Session session) {
    return session.listen(SpeechStart.getDefaultInstance());
  }

  private static void speak(OpenMicrophone microphone) {
    Replay.tenths(QUESTION).forEach(microphone::add);
  }

  @Test
  void aTurnComesBeforeItsFirstWordAndTheLastOneWhenTheMicrophoneIsClosed() {
    try (Session session = open()) {
      OpenMicrophone microphone = listen(session);
      Iterator<Turn> turns = microphone.iterator();
      try (microphone) {
        Turn first = turns.next();
        speak(microphone);
        Turn second = turns.next();
        assertEquals("45 crowns", first.answer().text());
        speak(microphone);
        assertEquals("And this?", second.transcript().getText());
        assertFalse(microphone.isOver());
      }
      assertEquals("", turns.next().transcript().getText());
      assertFalse(turns.hasNext());
      assertThrows(NoSuchElementException.class, turns::next);
      assertTrue(microphone.isOver());
      speak(microphone);
      assertEquals("45 crowns", session.ask("What?").answer().text());
    }
  }

  @Test
  void afterSoundThatIsRefusedTheNextQuestionIsListenedFor() {
    try (Session session = open();
        OpenMicrophone microphone = listen(session)) {
      Iterator<Turn> turns = microphone.iterator();
      microphone.add(new byte[3]);
      var error = assertThrows(ClientException.InvalidRequest.class, turns.next()::transcript);
      assertEquals("audio.data", error.field());
      speak(microphone); // before it is listened for
      assertEquals("What is this?", turns.next().transcript().getText());
    }
  }

  @Test
  void aPieceThatNoServerTakesIsNamedAndEndsNothing() {
    try (Session session = open();
        OpenMicrophone microphone = listen(session)) {
      for (int bytes : new int[] {0, 32 * 1024 + 1}) {
        var error = assertThrows(ClientException.InvalidRequest.class, () -> microphone.add(new byte[bytes]));
        assertEquals("sound", error.field());
      }
      speak(microphone);
      assertEquals("What is this?", microphone.iterator().next().transcript().getText());
    }
  }

  @Test
  void whatIsTooMuchToBeSaidWithAQuestionIsNamedAndEndsNothing() {
    Exchange since = Exchange.newBuilder().setQuestion("Since?").setAnswer("x".repeat(300_000)).build();
    SpeechStart much = SpeechStart.newBuilder().setRequest(AskRequest.newBuilder().addHistory(since)).build();
    try (Session session = open()) {
      for (Executable asked : List.<Executable>of(() -> session.say(much), () -> session.listen(much))) {
        assertEquals("question", assertThrows(ClientException.InvalidRequest.class, asked).field());
      }
      assertEquals("45 crowns", session.ask("What?").answer().text());
      assertEquals(1, session.links());
    }
  }

  @Test
  void aQuestionThatIsCancelledIsFollowedByTheNext() {
    try (Session session = open();
        OpenMicrophone microphone = listen(session)) {
      Iterator<Turn> turns = microphone.iterator();
      Turn first = turns.next();
      first.cancel();
      assertEquals("INTERRUPTED", assertThrows(ClientException.Cancelled.class, first::transcript).reason());
      Turn second = turns.next();
      speak(microphone);
      assertEquals("What is this?", second.transcript().getText());
    }
  }

  @Test
  void aSecondMicrophoneIsRefusedUntilTheFirstOneIsClosed() {
    try (Session session = open()) {
      OpenMicrophone first = listen(session);
      try (OpenMicrophone second = listen(session)) {
        Iterator<Turn> turns = second.iterator();
        assertFalse(isListenedTo(turns.next()));
        first.close();
        Turn turn = turns.next();
        while (!isListenedTo(turn)) turn = turns.next();
        speak(second);
        assertEquals("What is this?", turn.transcript().getText());
      }
    }
  }

  private static boolean isListenedTo(Turn turn) {
    try {
      return turn.iterator().next() instanceof TurnSaid.Listening;
    } catch (ClientException refused) {
      assertEquals("SPEECH_RUNNING", refused.reason());
      return false;
    }
  }

  @Test
  void itEndsWithItsSession() throws Exception {
    Session session = open();
    OpenMicrophone microphone = listen(session);
    Iterator<Turn> turns = microphone.iterator();
    Turn turn = turns.next();
    CompletableFuture<Boolean> more = CompletableFuture.supplyAsync(turns::hasNext);
    session.close();
    assertFalse(more.get());
    assertTrue(microphone.isOver());
    assertEquals("CLOSED", assertThrows(ClientException.Cancelled.class, turn::transcript).reason());
    speak(microphone);
    microphone.close();
    assertThrows(ClientException.Cancelled.class, () -> listen(session));
  }

  @Test
  void aThreadThatIsInterruptedWaitsForNoTurn() {
    try (Session session = open();
        OpenMicrophone microphone = listen(session)) {
      Iterator<Turn> turns = microphone.iterator();
      turns.next();
      Thread.currentThread().interrupt();
      assertEquals("THREAD_INTERRUPTED", assertThrows(ClientException.Cancelled.class, turns::hasNext).reason());
      assertTrue(Thread.interrupted());
      speak(microphone);
      assertTrue(turns.hasNext());
    }
  }

  @Test
  void aServerThatHearsNothingIsNotListenedFor() {
    try (Session session = Session.open(stage.begin(new JsonObject()), Stage.PATIENT, news -> {})) {
      assertEquals("start", assertThrows(ClientException.InvalidRequest.class, () -> listen(session)).field());
    }
  }
}
