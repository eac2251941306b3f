import com.google.protobuf.ByteString;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import quizglass.client.ClientException;
import quizglass.client.News;
import quizglass.client.Session;
import quizglass.client.SessionOptions;
import quizglass.client.Turn;
import quizglass.client.TurnSaid;
import quizglass.v1.Segment;

/**
 * Asks about a picture on a terminal, a question a line, until there are no more lines.
 *
 * <pre>java -cp clients/java/build/quizglass-client.jar clients/java/examples/Ask.java PICTURE [HOST:PORT]</pre>
 */
public final class Ask {
  public static void main(String[] arguments) throws IOException {
    if (arguments.length < 1 || arguments.length > 2) {
      System.err.println("usage: Ask.java PICTURE [HOST:PORT]");
      System.exit(2);
    }
    byte[] picture = Files.readAllBytes(Path.of(arguments[0]));
    String target = arguments.length > 1 ? arguments[1] : "127.0.0.1:50061";
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    SessionOptions options = SessionOptions.DEFAULT.withConnectTimeout(Duration.ofSeconds(20)); // for networks that are slow
    try (Session session = Session.open(target, options, Ask::tell)) {
      ByteString frame = session.show(picture); // sent ahead, and looked at before there is a question
      for (String question = lines.readLine(); question != null; question = lines.readLine()) {
        if (!question.isBlank()) answer(session.ask(question, frame));
      }
    } catch (ClientException failed) {
      System.err.println(failed.getMessage());
      System.exit(1);
    }
  }

  /** Prints the answer as it comes. A pair of glasses would say it, and tell how far it is. */
  private static void answer(Turn turn) {
    Map<Integer, String> texts = new HashMap<>(); // a draft, which may be taken back, has its text when it comes first
    try {
      for (TurnSaid said : turn) {
        if (!(said instanceof TurnSaid.Updated updated)) continue;
        for (Segment segment : updated.update().getSegmentsList()) {
          if (!segment.getText().isEmpty()) texts.put(segment.getIndex(), segment.getText());
          if (segment.getState() != Segment.State.STATE_CONFIRMED) continue;
          String text = texts.get(segment.getIndex());
          System.out.print(text);
          System.out.flush();
          turn.played(segment.getIndex(), text.codePointCount(0, text.length()));
        }
      }
      System.out.println();
    } catch (ClientException failed) { // the session goes on, unless it is closed
      System.err.println(failed.getMessage());
    }
  }

  private static void tell(News news) {
    if (news instanceof News.Lost lost) System.err.println("no link: " + lost.reason());
    if (news instanceof News.Restored back) System.err.println("linked again after " + back.after().toMillis() + " ms");
    if (news instanceof News.Frame frame && frame.status().getFaultValue() != 0) System.err.println(frame.status().getAdvice());
  }
}
