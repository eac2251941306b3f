package quizglass.client;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import quizglass.v1.Playing;
import quizglass.v1.SpeechAudio;
import quizglass.v1.SpeechStart;

/**
 * A microphone that stays open: sound is added as it is recorded, from any thread, and question after question is asked by it. Iterated,
 * it gives their turns: each when its question is listened for, before its first word, and the next one when that was spoken. The
 * iteration ends once the microphone is closed and its last question was spoken, or with the session.
 */
public final class OpenMicrophone implements Iterable<Turn>, AutoCloseable {
  /** Before listening again, where that failed. */
  private static final long PAUSE_MS = 1_000;

  private final Session session;
  private final SpeechStart start;

  // For the session's thread.
  private SpeechUpload upload;

  /** What was recorded between two questions. */
  private final Deque<SpeechAudio> between = new ArrayDeque<>();

  private boolean closed;

  // For any thread.
  private final Deque<Turn> turns = new ArrayDeque<>();
  private volatile boolean over;

  OpenMicrophone(Session session, SpeechStart start) {
    this.session = session;
    this.start = start;
  }

  /** Whether nothing more is taken: it was closed and its last question was spoken, or the session is over. */
  public boolean isOver() {
    return over;
  }

  /** As {@link #add(byte[], Playing)}, while no answer is played. */
  public void add(byte[] sound) {
    add(sound, null);
  }

  /**
   * Send what was recorded. Nothing happens once it is closed.
   *
   * @param sound as for {@link Spoken#add(byte[], Playing)}
   * @param playing what was being played when it began, so that an answer is not taken for the wearer; null: nothing
   * @throws ClientException.InvalidRequest it is empty, or larger
   */
  public void add(byte[] sound, Playing playing) {
    SpeechAudio piece = SpeechUpload.piece(sound, playing);
    session.record(() -> take(piece));
  }

  /** Nothing more is recorded. What was half spoken is asked. */
  @Override
  public void close() {
    session.record(
        () -> {
          if (over) return;
          closed = true;
          upload.complete();
        });
  }

  /** The turns that were not taken before; {@code hasNext} waits. A turn that has failed says so itself. */
  @Override
  public Iterator<Turn> iterator() {
    return new Iterator<>() {
      @Override
      public boolean hasNext() {
        synchronized (turns) {
          while (turns.isEmpty() && !over) await();
          return !turns.isEmpty();
        }
      }

      @Override
      public Turn next() {
        synchronized (turns) {
          if (!hasNext()) throw new NoSuchElementException("nothing more is listened to");
          return turns.remove();
        }
      }
    };
  }

  /** Listen for the next question, on the session's thread. */
  void listen() {
    Turn turn = session.newTurn();
    upload = new SpeechUpload(start.toBuilder().setId(turn.id()).build(), left -> spoken(turn, left));
    between.forEach(upload::add);
    between.clear();
    if (closed) upload.complete();
    session.speak(turn, upload);
    synchronized (turns) {
      turns.add(turn);
      turns.notifyAll();
    }
  }

  /** Nothing more comes of it. */
  void end() {
    synchronized (turns) {
      over = true;
      turns.notifyAll();
    }
  }

  private void take(SpeechAudio piece) {
    if (closed || over) return;
    if (upload.over) between.add(piece);
    else upload.add(piece);
  }

  /** A question was spoken, or has failed; what came after its end belongs to the next one. */
  private void spoken(Turn turn, List<SpeechAudio> left) {
    between.addAll(left);
    session.after(turn.hasFailed() && !isAtEnd() ? PAUSE_MS : 0, this::goOn);
  }

  private void goOn() {
    if (isAtEnd()) session.leave(this);
    else listen();
  }

  private boolean isAtEnd() {
    return closed && between.isEmpty();
  }

  private void await() {
    try {
      turns.wait();
    } catch (InterruptedException interruption) {
      throw ClientException.Cancelled.waiting();
    }
  }
}
