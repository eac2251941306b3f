package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The scenarios that every client replays. */
class ConformanceTest {
  private static final Duration LONGEST = Duration.ofSeconds(60);

  /** What scenarios may need, and this client has. */
  private static final Set<String> HAS = Set.of("device", "forget", "listen", "speech", "state");

  private static Stage stage;

  @BeforeAll
  static void begin() throws IOException {
    stage = Stage.shared();
  }

  @TestFactory
  Stream<DynamicTest> scenario() throws IOException {
    return scenarios().stream().map(path -> DynamicTest.dynamicTest(path.getFileName().toString(), () -> replay(path)));
  }

  @Test
  void scenariosAreThere() throws IOException {
    assertTrue(scenarios().size() > 10);
  }

  private static void replay(Path path) throws IOException {
    JsonObject scenario = JsonParser.parseString(Files.readString(path)).getAsJsonObject();
    assumeTrue(!scenario.has("needs") || HAS.containsAll(Following.strings(scenario.get("needs"))));
    Assertions.assertTimeout(LONGEST, () -> new Replay(stage, scenario).run());
  }

  private static List<Path> scenarios() throws IOException {
    try (Stream<Path> files = Files.list(Stage.ROOT.resolve("clients/conformance"))) {
      return files.filter(path -> path.toString().endsWith(".json")).sorted().toList();
    }
  }
}
