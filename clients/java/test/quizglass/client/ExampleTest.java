package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The example, as its comment says to run it. */
class ExampleTest {
  private static final Path JAR = Stage.ROOT.resolve("clients/java/build/quizglass-client.jar");
  private static final Path ASK = Stage.ROOT.resolve("clients/java/examples/Ask.java");

  @TempDir private Path folder;

  @Test
  void answersAboutAPictureAreWrittenOneALine() throws Exception {
    Stage stage = Stage.shared();
    Path picture = Files.write(folder.resolve("photo.png"), stage.picture("small"));
    Process ask = start(List.of(picture.toString(), stage.begin(new JsonObject())), ProcessBuilder.Redirect.INHERIT);
    ask.outputWriter().append("How much is it?\n\nAnd now?\n").close();
    assertEquals("45 crowns\n45 crowns\n", new String(ask.getInputStream().readAllBytes()));
    assertEquals(0, ask.waitFor());
  }

  @Test
  void withoutAPictureItSaysWhatItWants() throws Exception {
    Process ask = start(List.of(), ProcessBuilder.Redirect.PIPE);
    assertTrue(new String(ask.getErrorStream().readAllBytes()).startsWith("usage: Ask.java PICTURE"));
    assertEquals(2, ask.waitFor());
  }

  private static Process start(List<String> arguments, ProcessBuilder.Redirect errors) throws IOException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> command = new ArrayList<>(List.of(java, "-XX:TieredStopAtLevel=1", "-cp", JAR.toString(), ASK.toString()));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectError(errors).start();
  }
}
