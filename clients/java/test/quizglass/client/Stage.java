package quizglass.client;

import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/** The scripted server of the scenarios, behind its cutting proxy: a Python process that takes commands as lines of JSON. */
final class Stage {
  /** The repository's root. */
  static final Path ROOT = Path.of(System.getProperty("quizglass.root"));

  /** For its server: a machine that is busy with other tests may take long to answer. */
  static final SessionOptions PATIENT = SessionOptions.DEFAULT.withConnectTimeout(Duration.ofSeconds(30));

  private static Stage shared;

  private final PrintWriter commands;
  private final BufferedReader replies;
  private final Map<String, byte[]> pictures = new HashMap<>();

  private Stage() throws IOException {
    String python = System.getProperty("quizglass.python");
    ProcessBuilder builder = new ProcessBuilder(python, "-m", "tests.support.sessions.conformance");
    Process process = builder.directory(ROOT.toFile()).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    commands = new PrintWriter(process.outputWriter(), true);
    replies = process.inputReader();
    // A link counts as dead after half a second of silence there, in which no classes should have to be loaded.
    try (Session session = Session.open(begin(new JsonObject()), PATIENT, news -> {})) {
      session.ask("Warm?", session.show(picture("small"))).answer();
    }
  }

  /** The one of all tests, which begin their scenarios one after the other. It ends with its input, when they do. */
  static synchronized Stage shared() throws IOException {
    if (shared == null) shared = new Stage();
    return shared;
  }

  /** Begin a scenario, or an object without "answers", "settings" and "hears"; where its server is. */
  String begin(JsonObject scenario) {
    JsonObject begin = new JsonObject();
    for (String key : new String[] {"answers", "settings", "hears"}) if (scenario.has(key)) begin.add(key, scenario.get(key));
    return command("begin", begin).getAsJsonObject().get("grpc").getAsString();
  }

  JsonElement command(String name, JsonElement argument) {
    JsonObject command = new JsonObject();
    command.add(name, argument);
    return command(command);
  }

  JsonElement command(String name, String argument) {
    return command(name, new JsonPrimitive(argument));
  }

  JsonElement command(String name) {
    return command(name, JsonNull.INSTANCE);
  }

  /** Carry out a command, after those before; its reply. */
  synchronized JsonElement command(JsonObject command) {
    commands.println(command);
    try {
      String line = replies.readLine();
      if (line == null) throw new IllegalStateException("the scripted server has ended; see above");
      return JsonParser.parseString(line).getAsJsonObject().get("reply");
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  /** A picture of the scenarios. */
  byte[] picture(String name) {
    return pictures.computeIfAbsent(name, absent -> Base64.getDecoder().decode(command("picture", name).getAsString()));
  }}
