package quizglass.client;

import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.List;
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

  /** The server has to say, over a new link. */
  private static final long UNKNOWN = -1;

  final SpeechStart start;
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

  SpeechUpload(SpeechStart start) {
    this.start = start;
  }

  /** More was recorded, while that was played; null: nothing was. */
  void add(ByteString data, Playing playing) {
    if (over) return;
    SpeechAudio.Builder piece = SpeechAudio.newBuilder().setId(start.getId()).setSeq(first + pieces.size()).setData(data);
    pieces.add(playing == null ? piece.build() : piece.setPlaying(playing).build());
    bytes += data.size();
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
      end();
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
    over = true;
    pieces.clear();
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
