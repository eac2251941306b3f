package quizglass.client;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Bytes of pictures that may be on their way, told by how long the answers to pings take which follow each piece. As long as
 * they come as if nothing else were on its way, the window doubles; when they take longer, it is halved. For one thread.
 */
final class Window {
  private static final int LEAST = 8 * 1024;
  private static final int MOST = 1024 * 1024;
  private static final int START = 16 * 1024;

  /** Bytes of one piece, at most: it is on its way as a whole. */
  private static final int PART = 32 * 1024;

  /** What others may wait behind what is on its way, in milliseconds, beyond the round trip of an empty link. */
  private static final long QUEUE_MS = 100;

  /** Bytes sent up to a ping, and when, in milliseconds. */
  private record Mark(long sent, long at) {}

  private final Deque<Mark> marks = new ArrayDeque<>();
  private int size = START;
  private long sent;
  private long arrived;
  private long fastest = Long.MAX_VALUE - QUEUE_MS;

  /** Bytes that may be sent now. */
  int room() {
    return (int) Math.max(0, size - (sent - arrived));
  }

  /** Bytes that the next piece may have at most. */
  int piece() {
    return Math.min(PART, size / 2);
  }

  /** So many bytes were sent, at a time in milliseconds; what the ping after them is to carry. */
  ByteString sent(int bytes, long at) {
    sent += bytes;
    marks.add(new Mark(sent, at));
    return ByteString.copyFrom(ByteBuffer.allocate(Long.BYTES).putLong(0, sent));
  }

  /** A ping came back, at a time in milliseconds: all that was sent before it has arrived. */
  void answered(ByteString payload, long at) {
    if (payload.size() != Long.BYTES) return;
    long until = payload.asReadOnlyByteBuffer().getLong();
    long took = -1;
    while (!marks.isEmpty() && marks.peek().sent <= until) {
      Mark mark = marks.remove();
      arrived = mark.sent;
      took = at - mark.at;
    }
    if (took < 0) return;
    fastest = Math.min(fastest, took);
    size = took <= fastest + QUEUE_MS ? Math.min(2 * size, MOST) : Math.max(size / 2, LEAST);
  }
}
