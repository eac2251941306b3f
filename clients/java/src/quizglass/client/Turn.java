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

/**
 * One question of a session. Iterated, it gives its events as they come, each once, until the turn is over. Safe to
 * use from any thread.
 */
public final class Turn implements Iterable<TurnSaid> {
  private final String id;
  private final Session session;
  private final Deque<TurnSaid> waiting = new ArrayDeque<>();
  private final List<AskResponse> events = new ArrayList<>();
  private Interrupted interrupted;
  private ClientException error;
  private boolean over;

  Turn(String id, Session session) {
    this.id = id;
    this.session = session;
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
   * The whole turn; waits until it is over. Its events still come by iterating.
   *
   * @throws ClientException.Cancelled it was interrupted
   * @throws ClientException.SessionLost the session could not be resumed while it was half told
   * @throws ClientException it has failed
   */
  public synchronized Answer answer() {
    while (!over) await();
    if (error != null) throw error;
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

  /** Whether any of its events has come. */
  synchronized boolean begun() {
    return !events.isEmpty();
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
      default -> throw new IllegalArgumentException(said.getMessageCase() + " is not about a turn");
    }
    over |= ends(said);
    notifyAll();
  }

  /** It has failed. Earlier events still come. */
  synchronized void fail(ClientException failure) {
    if (over) return;
    error = failure;
    over = true;
    notifyAll();
  }

  /** Whether a turn is over with this. */
  static boolean ends(ServerMessage said) {
    return said.hasInterrupted() || (said.hasTurn() && said.getTurn().getEvent().hasDone());
  }

  private void await() {
    try {
      wait();
    } catch (InterruptedException interruption) {
      throw ClientException.Cancelled.waiting();
    }
  }
}
