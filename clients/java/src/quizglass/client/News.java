package quizglass.client;

import java.time.Duration;
import quizglass.v1.FrameStatus;
import quizglass.v1.GoAway;
import quizglass.v1.Notice;
import quizglass.v1.Opened;

/** What is told of a session, and not of one of its turns. */
public sealed interface News {
  /**
   * The link broke; another one is being made.
   *
   * @param reason why, for people
   */
  record Lost(String reason) implements News {}

  /**
   * There is a link again.
   *
   * @param restored how much of the session there is: all, its dialogue, or nothing
   * @param reason why not all of it, as {@code Opened.restored_reason}; empty when it is
   * @param after how long there was none
   */
  record Restored(Opened.Restored restored, String reason, Duration after) implements News {}

  /** What the server has of a picture, and what is wrong with it. */
  record Frame(FrameStatus status) implements News {}

  /** A message, or a turn, has failed; the session goes on. */
  record Failed(Notice notice) implements News {}

  /** The server is about to end the link; the session goes on over another one. */
  record Leaving(GoAway goAway) implements News {}
}
