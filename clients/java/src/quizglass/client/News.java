package quizglass.client;

import java.time.Duration;
import quizglass.v1.Forgotten;
import quizglass.v1.FrameStatus;
import quizglass.v1.GoAway;
import quizglass.v1.Notice;
import quizglass.v1.Opened;
import quizglass.v1.PostureChange;

/** Events of a session, and not of one of its turns. */
public sealed interface News {
  /**
   * The link broke; another one is being made.
   *
   * @param reason why, for people
   */
  record Lost(String reason) implements News {}

  /**
   * There is a link again, or the first one of a session that takes up an earlier one's state.
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

  /** How much the session asks of the device from now on, and why. */
  record Posture(PostureChange change) implements News {}

  /** What was forgotten, and what is kept until when. */
  record Forgot(Forgotten receipt) implements News {}

  /** The server is about to end the link; the session goes on over another one. */
  record Leaving(GoAway goAway) implements News {}
}
