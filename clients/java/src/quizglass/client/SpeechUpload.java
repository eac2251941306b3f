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

  /** The server has to say, over a new link; or no word was heard. */
  private static final long UNKNOWN = -1;

  /** Seconds before the piece of the first word that a server hears with it, and the same where answers are paused meanwhile. */
  private static final double BEFORE_S = 0.5;

  private static final double BEFORE_PAUSED_S = 2;

  /** Samples a second where {@link SpeechStart} names none. */
  private static final int RATE_HZ = 16_000;

  private static final double[] SILK_MS = {10, 20, 40, 60};
  private static final double[] HYBRID_MS = {10, 20};
  private static final double[] CELT_MS = {2.5, 5, 10, 20};

  /** Whether the session of now has been told that it begins; else it waits until the speeches before it are there. */
  boolean announced;

  /** Whether another session had all of it, and that of now has not yet. */
  boolean repeating;

  /** Whether sound that the session of now needs is not kept any more. */
  boolean lost;

  private SpeechStart start;
  private final Consumer<List<SpeechAudio>> finished;
  private final List<SpeechAudio> pieces = new ArrayList<>();
  private long bytes;

  /** Number of the oldest piece that is kept. */
  private long first;

  private long next;

  /** Number of the piece before which the first word was heard. */
  private long voice = UNKNOWN;

  private boolean forgotten;
  private boolean greeted;
  private boolean whole;
  private boolean ended;

  /** Whether nothing more of it is recorded. For any thread. */
  volatile boolean over;

  /**
   * {@code finished} receives, once and as soon as the server takes nothing more of it, what came after its end and belongs to what is
   * spoken next.
   */
  SpeechUpload(SpeechStart start, Consumer<List<SpeechAudio>> finished) {
    this.start = start;
    this.finished = finished;
  }

  /** What announces it. */
  SpeechStart start() {
    return start;
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
    pieces.add(piece);
    bytes += piece.getData().size();
    int begin = 0;
    for (long kept = bytes; kept > MOST_BYTES; begin++) kept -= pieces.get(begin).getData().size();
    drop(begin);
    lost |= next != UNKNOWN && next < first;
  }

  /** Nothing more is recorded. */
  void complete() {
    whole = true;
  }

  /** No other session is to have it. */
  void forget() {
    forgotten = true;
    if (over) pieces.clear();
  }

  /** What the server has of it; whether that was not known from an earlier session. */
  boolean status(SpeechStatus status) {
    boolean known = over;
    switch (status.getState()) {
      case STATE_ENDED -> {
        repeating = false;
        // What came since is not of this question, which is kept until it is understood.
        int at = (int) Math.min(pieces.size(), Math.max(0, status.getNextSeq() - first));
        List<SpeechAudio> left = List.copyOf(pieces.subList(at, pieces.size()));
        if (!over) pieces.subList(at, pieces.size()).clear();
        finish(left);
      }
      case STATE_VOICE -> {
        known &= voice != UNKNOWN;
        if (voice == UNKNOWN) voice = status.getNextSeq();
      }
      case STATE_LISTENING -> {
        if (next == UNKNOWN || greeted) {
          next = status.getNextSeq();
          ended = false;
          lost = next < first;
        }
        greeted = true;
      }
      default -> {} // of the answer before
    }
    return !known;
  }

  /** Nothing more is sent of it. */
  void end() {
    repeating = false;
    pieces.clear();
    finish(List.of());
  }

  private void finish(List<SpeechAudio> left) {
    if (over) return;
    over = true;
    finished.accept(left);
  }

  /**
   * There is a new link, over which the server says what it has.
   *
   * @param resumed whether the session is the same. Another one needs the whole question
   * @param longestS seconds of sound that it takes at once
   */
  void again(boolean resumed, double longestS) {
    if (resumed && over && !repeating) return; // its transcript comes
    next = UNKNOWN;
    greeted = true;
    if (resumed) return;
    announced = false;
    ended = false;
    repeating = over;
    if (start.getEndsBySilence()) trim(longestS);
    if (over) {
      pieces.replaceAll(piece -> piece.toBuilder().clearPlaying().build()); // no answer that this session knows
      whole = true;
      // Where it begins and ends is known.
      if (voice != UNKNOWN) start = start.toBuilder().setEndsBySilence(false).setPauses(false).build();
    }
    lost = forgotten || first > 0;
  }

  /** What is to be sent next; null: nothing now. */
  ClientMessage next() {
    if ((over && !repeating) || next == UNKNOWN || lost) return null;
    int at = (int) (next - first);
    if (at < pieces.size()) {
      SpeechAudio piece = pieces.get(at).toBuilder().setId(start.getId()).setSeq(next).build();
      next += 1;
      return ClientMessage.newBuilder().setAudio(piece).build();
    }
    if (!whole || ended) return null;
    ended = true;
    SpeechEnd end = SpeechEnd.newBuilder().setId(start.getId()).setParts(first + pieces.size()).build();
    return ClientMessage.newBuilder().setSpeechEnd(end).build();
  }

  private void drop(int count) {
    List<SpeechAudio> oldest = pieces.subList(0, count);
    for (SpeechAudio piece : oldest) bytes -= piece.getData().size();
    oldest.clear();
    first += count;
  }

  /**
   * Keep what another session can use, numbered anew: the question from shortly before its first word on, or of an open microphone in
   * which none was heard as much as a question may have.
   */
  private void trim(double longestS) {
    boolean spoken = voice != UNKNOWN;
    if (spoken && voice <= first) return; // its beginning is not kept
    double[] seconds = pieces.stream().mapToDouble(this::seconds).toArray();
    int begin = 0;
    if (spoken) {
      int word = (int) Math.min(seconds.length, voice - 1 - first);
      begin = from(seconds, word, start.getPauses() ? BEFORE_PAUSED_S : BEFORE_S, Double.POSITIVE_INFINITY);
    }
    if (over || !spoken) begin = Math.max(begin, from(seconds, seconds.length, Double.POSITIVE_INFINITY, longestS));
    drop(begin);
    if (spoken) voice -= first;
    first = 0;
  }

  /** Where the last pieces before {@code end} begin that have more than, and at most, so many seconds. */
  private static int from(double[] seconds, int end, double moreThanS, double mostS) {
    int at = end;
    for (double total = 0; at > 0 && total <= moreThanS && total + seconds[at - 1] <= mostS; at--) total += seconds[at - 1];
    return at;
  }

  private double seconds(SpeechAudio piece) {
    if (start.getCodec() == SpeechStart.Codec.CODEC_OPUS) return opusSeconds(piece.getData());
    int rateHz = start.getRateHz() > 0 ? start.getRateHz() : RATE_HZ;
    return piece.getData().size() / (2.0 * Math.max(1, start.getChannels()) * rateHz);
  }

  /** How long a packet's sound is, by its first bytes (RFC 6716, sections 3.1 and 3.2). */
  private static double opusSeconds(ByteString packet) {
    int config = (packet.byteAt(0) & 0xff) >> 3;
    double[] lengths = config < 12 ? SILK_MS : config < 16 ? HYBRID_MS : CELT_MS;
    int frames =
        switch (packet.byteAt(0) & 3) {
          case 0 -> 1;
          case 3 -> packet.size() > 1 ? packet.byteAt(1) & 63 : 0;
          default -> 2;
        };
    return frames * lengths[config % lengths.length] / 1000;
  }
}
