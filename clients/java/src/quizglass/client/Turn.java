package quizglass.client;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import quizglass.client.ClientException.Details;
import quizglass.v1.AskResponse;
import quizglass.v1.Interrupted;
import quizglass.v1.ServerMessage;
import quizglass.v1.SpeechTranscript;

/**
 * One question of a session. Iterated, it gives its events as they come, each once, until the turn is over. Safe to
 * use from any thread.
 */
public final class Turn implements Iterable<TurnSaid> {
  private final String id;
  private final Session session;
  private final Deque<TurnSaid> waiting = new ArrayDeque<>();
  private final List<AskResponse> events = new ArrayList<>();

  /** Whether its answer comes as sound, too. */
  private final boolean aloud;

  private Interrupted interrupted;
  private SpeechTranscript transcript;
  private ClientException error;

  /** Whether its answer is there, or none comes; its sound may still come. */
  private boolean answered;

  private boolean over;

  Turn(String id, Session session, boolean aloud) {
    this.id = id;
    this.session = session;
    this.aloud = aloud;
  }

  /** Its name in the session. */
  public String id() {
    return id;
  }

  /** Whether nothing more comes of it. */
  public synchronized boolean isOver() {
    return over;
  }

  /**
   * Its events that were not taken before. {@code hasNext} waits, and raises {@link ClientException} when the turn, or
   * the session, has failed.
   */
  @Override
  public Iterator<TurnSaid> iterator() {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        synchronized (Turn.this) {
          while (waiting.isEmpty() && !over) await();
          if (waiting.isEmpty() && error != null) throw error;
          return !waiting.isEmpty();
        }
      }

      @Override
      public TurnSaid next() {
        synchronized (Turn.this) {
          if (!hasNext()) throw new NoSuchElementException("the turn is over");
          return waiting.remove();
        }
      }
    };
  }

  /**
   * What was heard of a spoken question; waits until it is understood. With an empty text nothing was, and no answer comes.
   *
   * @throws ClientException.Cancelled it was interrupted before
   * @throws ClientException it cannot be understood
   */
  public synchronized SpeechTranscript transcript() {
    while (transcript == null && !over) await();
    if (error != null) throw error;
    if (transcript == null) throw new ClientException.Cancelled("the question was interrupted", Details.reason("INTERRUPTED"));
    return transcript;
  }

  /**
   * The whole answer; waits until it is there. Events still come by iterating, and so does its sound.
   *
   * @throws ClientException.Cancelled it was interrupted, or what was spoken is no question (NOTHING_HEARD, COMMAND)
   * @throws ClientException.SessionLost the session could not be resumed while it was half told
   * @throws ClientException it has failed
   */
  public synchronized Answer answer() {
    while (!answered) await();
    if (error != null) throw error;
    if (transcript != null && !asks(transcript)) {
      boolean none = transcript.getCommand() == SpeechTranscript.Command.COMMAND_UNSPECIFIED;
      Details why = Details.reason(none ? "NOTHING_HEARD" : "COMMAND");
      throw new ClientException.Cancelled("what was heard is no question", why);
    }
    if (interrupted != null) {
      String told = "the turn was interrupted (" + interrupted.getCause().name().replace("CAUSE_", "") + ")";
      throw new ClientException.Cancelled(told, Details.reason("INTERRUPTED"));
    }
    AskResponse last = events.get(events.size() - 1);
    return new Answer(last.getDone().getAnswer(), last.getDone(), List.copyOf(events));
  }

  /** End it; one that is over is left as it is. */
  public void cancel() {
    if (!isOver()) session.cancel(id);
  }

  /** So much of its answer was said: all before that segment, and so many code points of it. A session that is over is not told. */
  public void played(int segment, int codePoint) {
    session.played(id, segment, codePoint);
  }

  /** Whether it has failed. */
  synchronized boolean hasFailed() {
    return error != null;
  }

  /** Whether any of its events has come. */
  synchronized boolean begun() {
    return !events.isEmpty() || transcript != null;
  }

  /** The server says something of it. */
  synchronized void take(ServerMessage said) {
    switch (said.getMessageCase()) {
      case TURN -> {
        if (said.getTurn().hasEvent()) events.add(said.getTurn().getEvent());
        waiting.add(new TurnSaid.Updated(said.getTurn()));
      }
      case PROGRESS -> waiting.add(new TurnSaid.Working(said.getProgress()));
      case NEED_FRAME -> waiting.add(new TurnSaid.Waiting(said.getNeedFrame()));
      case INTERRUPTED -> {
        interrupted = said.getInterrupted();
        waiting.add(new TurnSaid.Ended(interrupted));
      }
      case SPEECH_STATUS -> waiting.add(new TurnSaid.Listening(said.getSpeechStatus()));
      case TRANSCRIPT -> {
        if (said.getTranscript().getFinal()) transcript = said.getTranscript();
        waiting.add(new TurnSaid.Heard(said.getTranscript()));
      }
      case SPEECH -> waiting.add(new TurnSaid.Sounding(said.getSpeech()));
      case SPOKEN -> waiting.add(new TurnSaid.Sounded(said.getSpoken()));
      default -> throw new IllegalArgumentException(said.getMessageCase() + " is not about a turn");
    }
    answered |= ends(said);
    over |= said.hasSpoken() || (ends(said) && !(said.hasTurn() && aloud));
    notifyAll();
  }

  /** It has failed. Earlier events still come. */
  synchronized void fail(ClientException failure) {
    if (over) return;
    if (!answered) error = failure;
    answered = true;
    over = true;
    notifyAll();
  }

  /** Whether a turn is answered, or comes to nothing, with this. */
  static boolean ends(ServerMessage said) {
    if (said.hasTranscript()) return said.getTranscript().getFinal() && !asks(said.getTranscript());
    return said.hasInterrupted() || (said.hasTurn() && said.getTurn().getEvent().hasDone());
  }

  /** Whether what was heard is a question, whose answer follows. */
  private static boolean asks(SpeechTranscript heard) {
    return !heard.getText().isEmpty() && heard.getCommand() == SpeechTranscript.Command.COMMAND_UNSPECIFIED;
  }

  private void await() {
    try {
      wait();
    } catch (InterruptedException interruption) {
      throw ClientException.Cancelled.waiting();
    }
  }
}
