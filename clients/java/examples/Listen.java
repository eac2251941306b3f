import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import quizglass.client.ClientException;
import quizglass.client.OpenMicrophone;
import quizglass.client.Session;
import quizglass.client.Turn;
import quizglass.v1.AskRequest;
import quizglass.v1.Frame;
import quizglass.v1.SpeechStart;

/**
 * Listens to an open microphone, and answers each question about a picture that is spoken. A question that is spoken over an answer
 * interrupts it. The sound is read from standard input, raw 16-bit PCM of one channel and 16,000 samples a second:
 *
 * <pre>arecord -q -t raw -f S16_LE -r 16000 |
 *   java -cp clients/java/build/quizglass-client.jar clients/java/examples/Listen.java PICTURE [HOST:PORT]</pre>
 */
public final class Listen {
  /** A tenth of a second. */
  private static final int PIECE_BYTES = 3_200;

  public static void main(String[] arguments) throws IOException {
    if (arguments.length < 1 || arguments.length > 2) {
      System.err.println("usage: Listen.java PICTURE [HOST:PORT]");
      System.exit(2);
    }
    byte[] picture = Files.readAllBytes(Path.of(arguments[0]));
    try (Session session = Session.open(arguments.length > 1 ? arguments[1] : "127.0.0.1:50061")) {
      ByteString frame = session.show(picture);
      AskRequest request = AskRequest.newBuilder().addFrames(Frame.newBuilder().setSha256(frame)).build();
      OpenMicrophone microphone = session.listen(SpeechStart.newBuilder().setRequest(request).build());
      new Thread(() -> record(microphone)).start();
      for (Turn turn : microphone) follow(turn); // the next question is listened for meanwhile
    } catch (ClientException failed) {
      System.err.println(failed.getMessage());
      System.exit(1);
    }
  }

  private static void record(OpenMicrophone microphone) {
    try (microphone) {
      while (!microphone.isOver()) {
        byte[] piece = System.in.readNBytes(PIECE_BYTES);
        if (piece.length < PIECE_BYTES) return; // the recorder has ended
        microphone.add(piece);
      }
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private static void follow(Turn turn) {
    try {
      String heard = turn.transcript().getText();
      if (heard.isEmpty()) return;
      System.out.println("> " + heard);
      System.out.println(turn.answer().text());
    } catch (ClientException failed) { // interrupted, a command such as "Stop", or nothing that can be understood
      System.err.println(failed.getMessage());
    }
  }
}
