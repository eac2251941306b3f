package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import quizglass.v1.AskRequest;
import quizglass.v1.Frame;
import quizglass.v1.OutputProfile;
import quizglass.v1.SessionAsk;

/** Carries out a scenario (clients/conformance/README.md) with a session, and compares what came out. */
final class Replay {
  private static final long WAIT_S = 20;

  private final Stage stage;
  private final JsonObject scenario;
  private final List<News> news = new CopyOnWriteArrayList<>();
  private final Map<String, Following> turns = new HashMap<>();
  private final Map<String, ByteString> frames = new HashMap<>();
  private Session session;
  private long marked;

  Replay(Stage stage, JsonObject scenario) {
    this.stage = stage;
    this.scenario = scenario;
  }

  /** Carry it out from beginning to end. */
  void run() throws Exception {
    String target = stage.begin(scenario);
    try (Session opened = Session.open(target, options(), news::add)) {
      session = opened;
      for (JsonElement step : scenario.getAsJsonArray("steps")) step(step.getAsJsonObject());
      check();
    }
    if (scenario.has("news")) assertEquals(Following.strings(scenario.get("news")), links(news));
  }

  private SessionOptions options() {
    if (!scenario.has("open")) return Stage.PATIENT;
    JsonObject open = scenario.getAsJsonObject("open");
    OutputProfile.Builder output = OutputProfile.newBuilder();
    if (open.has("output")) {
      open.getAsJsonObject("output").entrySet().forEach(each -> set(output, each.getKey(), each.getValue().getAsString()));
    }
    boolean local = open.has("local_only") && open.get("local_only").getAsBoolean();
    return Stage.PATIENT.withOutput(output.build()).withLocalOnly(local);
  }

  /** Set a field, a number or a word such as "english", by its name. */
  private static void set(OutputProfile.Builder output, String name, String value) {
    FieldDescriptor field = OutputProfile.getDescriptor().findFieldByName(name);
    if (field.getJavaType() == FieldDescriptor.JavaType.ENUM) {
      output.setField(field, field.getEnumType().findValueByName((name + "_" + value).toUpperCase(Locale.ROOT)));
    } else {
      output.setField(field, Integer.valueOf(value));
    }
  }

  /** Wait for something that nobody tells of. */
  static void eventually(BooleanSupplier fits, String what) throws InterruptedException {
    long late = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
    while (!fits.getAsBoolean()) {
      assertTrue(System.nanoTime() < late, () -> "waited in vain: " + what);
      Thread.sleep(10);
    }
  }

  /** Links lost and restored, as scenarios name them. */
  static List<String> links(List<News> news) {
    return news.stream().map(Replay::name).filter(name -> !name.isEmpty()).toList();
  }

  private static String name(News news) {
    if (news instanceof News.Lost) return "lost";
    if (news instanceof News.Restored back) return "restored " + back.restored().name().replace("RESTORED_", "");
    return "";
  }

  private void step(JsonObject step) throws Exception {
    String kind = step.keySet().iterator().next();
    String name = step.get(kind).isJsonPrimitive() ? step.get(kind).getAsString() : "";
    switch (kind) {
      case "stage" -> stage.command(step.getAsJsonObject("stage"));
      case "show" -> frames.put(name, session.show(stage.picture(step.get("picture").getAsString())));
      case "drop" -> session.drop(frames.get(name));
      case "ask" -> turns.put(name, new Following(ask(step)));
      case "after" -> eventually(() -> came(turns.get(name), step), step.toString());
      case "played" -> turns.get(name).turn.played(step.get("segment").getAsInt(), step.get("code_point").getAsInt());
      case "cancel" -> turns.get(name).turn.cancel();
      case "over" -> turns.get(name).over();
      case "hint" -> session.hintReconnect();
      case "links" -> eventually(() -> session.links() >= step.get("links").getAsInt(), step.toString());
      case "mark" -> marked = stage.command("up").getAsLong();
      default -> throw new AssertionError(step + " is no step");
    }
  }

  private Turn ask(JsonObject step) {
    AskRequest.Builder request = AskRequest.newBuilder().setQuestion(step.get("question").getAsString());
    if (step.has("frame")) request.addFrames(Frame.newBuilder().setSha256(frames.get(step.get("frame").getAsString())));
    String overlap = step.has("overlap") ? step.get("overlap").getAsString() : "interrupt";
    return session.ask(request.build(), SessionAsk.Overlap.valueOf("OVERLAP_" + overlap.toUpperCase(Locale.ROOT)));
  }

  private static boolean came(Following turn, JsonObject step) {
    if (step.has("events")) return turn.updates.size() >= step.get("events").getAsInt();
    return turn.segments().size() >= step.get("segments").getAsInt();
  }

  private void check() throws Exception {
    for (Map.Entry<String, JsonElement> turn : scenario.getAsJsonObject("turns").entrySet()) {
      turns.get(turn.getKey()).check(turn.getValue().getAsJsonObject());
    }
    List<String> inferred = Following.strings(stage.command("inferred"));
    assertEquals(Following.strings(scenario.get("inferred")), inferred, "questions that a model was asked");
    if (scenario.has("links")) assertEquals(scenario.get("links").getAsInt(), session.links(), "links");
    long up = stage.command("up").getAsLong() - marked;
    if (scenario.has("up_at_most")) assertTrue(up <= scenario.get("up_at_most").getAsLong(), () -> up + " bytes went up");
  }
}
