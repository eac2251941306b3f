package quizglass.client;

import com.google.protobuf.ByteString;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Bytes of pictures that may be on their way, told by how long the answers to pings take which follow each piece: what was on its
 * way when a piece was sent has arrived when its ping is answered, which tells what the link carries. For one thread.
 */
final class Window {
  private static final int LEAST = 8 * 1024;
  private static final int MOST = 1024 * 1024;

  /** What is tried beyond what has fitted. */
  private static final int MORE = 4 * 1024;

  /** Bytes of one piece, at most: it is on its way as a whole. */
  private static final int PART = 32 * 1024;

  /** What others may wait behind what is on its way, in milliseconds, beyond the round trip of an empty link. */
  private static final long QUEUE_MS = 100;

  /** Where a piece ended: bytes sent up to there, how many of them were on their way then, and when, in milliseconds. */
  private record Mark(long sent, long underWay, long at) {}

  private final Deque<Mark> marks = new ArrayDeque<>();
  private double size = LEAST;
  private long sent;
  private long arrived;
  private long fastest = Long.MAX_VALUE - QUEUE_MS;

  /** Bytes that may be sent now. */
  int room() {
    return (int) Math.max(0, (long) size - (sent - arrived));
  }

  /** Bytes that the next piece may have at most. */
  int piece() {
    return Math.min(PART, (int) size / 2);
  }

  /** So many bytes were sent, at a time in milliseconds; what the ping after them is to carry. */
  ByteString sent(int bytes, long at) {
    sent += bytes;
    marks.add(new Mark(sent, sent - arrived, at));
    return ByteString.copyFrom(ByteBuffer.allocate(Long.BYTES).putLong(0, sent));
  }

  /** A ping came back, at a time in milliseconds: all that was sent before it has arrived. */
  void answered(ByteString payload, long at) {
    if (payload.size() != Long.BYTES) return;
    long until = payload.asReadOnlyByteBuffer().getLong();
    Mark last = null;
    while (!marks.isEmpty() && marks.peek().sent <= until) last = marks.remove();
    if (last == null) return;
    arrived = last.sent;
    long took = at - last.at;
    fastest = Math.min(fastest, took);
    long longest = fastest + QUEUE_MS;
    double fits = last.underWay * (double) longest / Math.max(took, 1);
    if (took > longest) {
      size = Math.max(Math.max(fits, size / 2), LEAST);
    } else if (4 * last.underWay >= size) { // else it was not this window that held back
      size = Math.min(Math.min(Math.max(fits, size + MORE), 2 * size), MOST);
    }
  }
}
