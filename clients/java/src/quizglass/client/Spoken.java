package quizglass.client;

import quizglass.v1.Playing;
import quizglass.v1.SpeechAudio;

/**
 * A question that is being spoken: sound is added as it is recorded, from any thread. What comes of it is its {@link #turn}'s.
 */
public final class Spoken implements AutoCloseable {
  private final Session session;
  private final Turn turn;
  private final SpeechUpload upload;

  Spoken(Session session, Turn turn, SpeechUpload upload) {
    this.session = session;
    this.turn = turn;
    this.upload = upload;
  }

  /** What is heard of it, its events and its answer. */
  public Turn turn() {
    return turn;
  }

  /** Whether the server takes nothing more of it: the wearer has spoken, or it has failed. A recorder may stop then. */
  public boolean isOver() {
    return upload.over || turn.isOver();
  }

  /** As {@link #add(byte[], Playing)}, while no answer is played. */
  public void add(byte[] sound) {
    add(sound, null);
  }

  /**
   * Send what was recorded. Nothing happens once {@link #isOver}.
   *
   * @param sound as it was announced: whole samples of 16-bit PCM, or one packet of Opus; at most 32 KiB
   * @param playing what was being played when it began, so that an answer is not taken for the wearer; null: nothing
   * @throws ClientException.InvalidRequest it is empty, or larger
   */
  public void add(byte[] sound, Playing playing) {
    SpeechAudio piece = SpeechUpload.piece(sound, playing);
    session.record(() -> upload.add(piece));
  }

  /** The wearer has spoken. Where the server ends the question by silence, this says that nothing more is recorded. */
  @Override
  public void close() {
    session.record(upload::complete);
  }
}
