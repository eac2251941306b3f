package quizglass.client;

import quizglass.v1.AnswerAudio;
import quizglass.v1.AnswerSpoken;
import quizglass.v1.Interrupted;
import quizglass.v1.NeedFrame;
import quizglass.v1.Progress;
import quizglass.v1.SpeechStatus;
import quizglass.v1.SpeechTranscript;
import quizglass.v1.TurnUpdate;

/** An event of a turn while it runs: a message of the server, as the protocol has it. */
public sealed interface TurnSaid {
  /** Something happened: an event, and the pieces of the answer that it brought. */
  record Updated(TurnUpdate update) implements TurnSaid {}

  /** It is being worked on, and nothing else came for a while. */
  record Working(Progress progress) implements TurnSaid {}

  /** It waits for pictures. Those that were shown are sent without the program's doing. */
  record Waiting(NeedFrame need) implements TurnSaid {}

  /** It was ended before it was over. Nothing comes after this. */
  record Ended(Interrupted interrupted) implements TurnSaid {}

  /** How far the server has listened to a spoken question. */
  record Listening(SpeechStatus status) implements TurnSaid {}

  /** What was heard of a spoken question, so far or in the end. */
  record Heard(SpeechTranscript transcript) implements TurnSaid {}

  /** Sound of a segment of the answer, where the session was opened with {@code aloud}. */
  record Sounding(AnswerAudio audio) implements TurnSaid {}

  /** How much of the answer came as sound. Nothing comes after this. */
  record Sounded(AnswerSpoken spoken) implements TurnSaid {}
}
