package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The examples, as their comments say to run them. */
class ExampleTest {
  private static final Path JAR = Stage.ROOT.resolve("clients/java/build/quizglass-client.jar");
  private static final Path ASK = Stage.ROOT.resolve("clients/java/examples/Ask.java");
  private static final Path LISTEN = Stage.ROOT.resolve("clients/java/examples/Listen.java");

  @TempDir private Path folder;

  @Test
  void answersAboutAPictureAreWrittenOneALine() throws Exception {
    Stage stage = Stage.shared();
    Path picture = Files.write(folder.resolve("photo.png"), stage.picture("small"));
    Process ask = start(ASK, List.of(picture.toString(), stage.begin(new JsonObject())), ProcessBuilder.Redirect.INHERIT);
    ask.outputWriter().append("How much is it?\n\nAnd now?\n").close();
    assertEquals("45 crowns\n45 crowns\n", new String(ask.getInputStream().readAllBytes()));
    assertEquals(0, ask.waitFor());
  }

  @Test
  void withoutAPictureItSaysWhatItWants() throws Exception {
    Process ask = start(ASK, List.of(), ProcessBuilder.Redirect.PIPE);
    assertTrue(new String(ask.getErrorStream().readAllBytes()).startsWith("usage: Ask.java PICTURE"));
    assertEquals(2, ask.waitFor());
  }

  @Test
  void questionsThatAreSpokenAreWrittenWithTheirAnswers() throws Exception {
    Stage stage = Stage.shared();
    JsonObject hears = JsonParser.parseString("{\"hears\": [\"What is this?\", \"And this?\"]}").getAsJsonObject();
    Path picture = Files.write(folder.resolve("photo.png"), stage.picture("small"));
    Process listen = start(LISTEN, List.of(picture.toString(), stage.begin(hears)), ProcessBuilder.Redirect.INHERIT);
    BufferedReader lines = listen.inputReader();
    try (OutputStream microphone = listen.getOutputStream()) {
      for (String question : List.of("What is this?", "And this?")) {
        for (byte[] piece : Replay.tenths(JsonParser.parseString("[[220, 1], [0, 1]]").getAsJsonArray())) microphone.write(piece);
        microphone.flush();
        assertEquals("> " + question, lines.readLine());
        assertEquals("45 crowns", lines.readLine());
      }
    }
    assertNull(lines.readLine());
    assertEquals(0, listen.waitFor());
  }

  private static Process start(Path example, List<String> arguments, ProcessBuilder.Redirect errors) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> command = new ArrayList<>(List.of(java, "-XX:TieredStopAtLevel=1", "-cp", JAR.toString(), example.toString()));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectError(errors).start();
  }
}
