package quizglass.client;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import quizglass.v1.ClientMessage;
import quizglass.v1.Playing;
import quizglass.v1.SpeechAudio;
import quizglass.v1.SpeechEnd;
import quizglass.v1.SpeechStart;
import quizglass.v1.SpeechStatus;

/** The sound of one spoken question that is being sent, or can be sent again. For one thread, but for {@link #over}. */
final class SpeechUpload {
  /** Bytes of sound that are kept to be sent again; the oldest go first, as those of a microphone that stays open. */
  private static final long MOST_BYTES = 8L * 1024 * 1024;

  /** Bytes of one piece that a server takes. */
  private static final int MOST_PIECE_BYTES = 32 * 1024;

  /** The server has to say, over a new link. */
  private static final long UNKNOWN = -1;

  final SpeechStart start;
  private final Consumer<List<SpeechAudio>> finished;
  private final List<SpeechAudio> pieces = new ArrayList<>();
  private long bytes;

  /** Number of the oldest piece that is kept. */
  private long first;

  private long next;
  private boolean greeted;
  private boolean whole;
  private boolean ended;

  /** Whether the server takes nothing more of it. For any thread. */
  volatile boolean over;

  /**
   * {@code finished} receives, once and as soon as the server takes nothing more of it, what came after its end and belongs to what is
   * spoken next.
   */
  SpeechUpload(SpeechStart start, Consumer<List<SpeechAudio>> finished) {
    this.start = start;
    this.finished = finished;
  }

  /** Sound that was recorded while that was played (null: nothing), and is not of a question yet. */
  static SpeechAudio piece(byte[] sound, Playing playing) {
    if (sound.length == 0 || sound.length > MOST_PIECE_BYTES) {
      String told = "sound: " + sound.length + " bytes; a piece has 1 to " + MOST_PIECE_BYTES;
      throw new ClientException.InvalidRequest(told, ClientException.Details.field("sound"));
    }
    SpeechAudio.Builder piece = SpeechAudio.newBuilder().setData(ByteString.copyFrom(sound)); // theirs may change on its way
    return playing == null ? piece.build() : piece.setPlaying(playing).build();
  }

  /** More was recorded. */
  void add(SpeechAudio piece) {
    if (over) return;
    pieces.add(piece.toBuilder().setId(start.getId()).setSeq(first + pieces.size()).build());
    bytes += piece.getData().size();
    while (bytes > MOST_BYTES) {
      bytes -= pieces.remove(0).getData().size();
      first += 1;
    }
  }

  /** Nothing more is recorded. */
  void complete() {
    whole = true;
  }

  /** What the server has of it. */
  void status(SpeechStatus status) {
    if (status.getState() == SpeechStatus.State.STATE_ENDED) {
      long at = Math.max(0, status.getNextSeq() - first);
      end(at < pieces.size() ? List.copyOf(pieces.subList((int) at, pieces.size())) : List.of());
    } else if (status.getState() == SpeechStatus.State.STATE_LISTENING) {
      if (next == UNKNOWN || greeted) {
        next = status.getNextSeq();
        ended = false;
      }
      greeted = true;
    }
  }

  /** Nothing more is sent of it. */
  void end() {
    end(List.of());
  }

  private void end(List<SpeechAudio> left) {
    if (over) return;
    over = true;
    pieces.clear();
    finished.accept(left);
  }

  /** There is a new link, over which the server says what it has. */
  void again() {
    next = UNKNOWN;
    greeted = true;
  }

  /** What is to be sent next; null: nothing now. */
  ClientMessage next() {
    if (over || next == UNKNOWN) return null;
    long at = Math.max(0, next - first); // what is not kept any more leaves a gap, which the server refuses
    if (at < pieces.size()) {
      next = first + at + 1;
      return ClientMessage.newBuilder().setAudio(pieces.get((int) at)).build();
    }
    if (!whole || ended) return null;
    ended = true;
    SpeechEnd end = SpeechEnd.newBuilder().setId(start.getId()).setParts(first + pieces.size()).build();
    return ClientMessage.newBuilder().setSpeechEnd(end).build();
  }
}
