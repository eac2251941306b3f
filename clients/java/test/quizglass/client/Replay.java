package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import quizglass.v1.AskRequest;
import quizglass.v1.DeviceState;
import quizglass.v1.Forgotten;
import quizglass.v1.Frame;
import quizglass.v1.OutputProfile;
import quizglass.v1.Playing;
import quizglass.v1.SessionAsk;
import quizglass.v1.SpeechStart;

/** Carries out a scenario (clients/conformance/README.md) with a session, and compares what came out. */
final class Replay {
  private static final long WAIT_S = 20;
  private static final int RATE_HZ = 16_000;

  private final Stage stage;
  private final JsonObject scenario;
  private final List<News> news = new CopyOnWriteArrayList<>();
  private final Map<String, Following> turns = new ConcurrentHashMap<>();
  private final Map<String, ByteString> frames = new HashMap<>();
  private String target;
  private Session session;
  private long marked;

  /** Turns of a microphone behind those that have names. */
  private final List<Following> behind = new CopyOnWriteArrayList<>();

  private CompletableFuture<Void> heard = CompletableFuture.completedFuture(null);

  Replay(Stage stage, JsonObject scenario) {
    this.stage = stage;
    this.scenario = scenario;
  }

  /** Carry it out from beginning to end. */
  void run() throws Exception {
    target = stage.begin(scenario);
    session = Session.open(target, options(), news::add);
    try {
      for (JsonElement step : scenario.getAsJsonArray("steps")) step(step.getAsJsonObject());
      check();
    } finally {
      session.close();
    }
    if (scenario.has("news")) assertEquals(Following.strings(scenario.get("news")), told(news));
    if (scenario.has("forgotten")) checkReceipt(scenario.getAsJsonObject("forgotten"));
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

  /** Set a field, a number, true or false, or a word such as "english", by its name. */
  private static void set(OutputProfile.Builder output, String name, String value) {
    FieldDescriptor field = OutputProfile.getDescriptor().findFieldByName(name);
    if (field.getJavaType() == FieldDescriptor.JavaType.ENUM) {
      output.setField(field, field.getEnumType().findValueByName((name + "_" + value).toUpperCase(Locale.ROOT)));
    } else if (field.getJavaType() == FieldDescriptor.JavaType.BOOLEAN) {
      output.setField(field, Boolean.valueOf(value));
    } else {
      output.setField(field, Integer.valueOf(value));
    }
  }

  /** Wait for a state that no event reports. */
  static void eventually(BooleanSupplier fits, String what) throws InterruptedException {
    long late = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
    while (!fits.getAsBoolean()) {
      assertTrue(System.nanoTime() < late, () -> "waited in vain: " + what);
      Thread.sleep(10);
    }
  }

  /** The events, as scenarios name them. */
  static List<String> told(List<News> news) {
    return news.stream().map(Replay::name).filter(name -> !name.isEmpty()).toList();
  }

  private static String name(News news) {
    if (news instanceof News.Lost) return "lost";
    if (news instanceof News.Restored back) return "restored " + back.restored().name().replace("RESTORED_", "");
    if (news instanceof News.Posture now) return "posture " + now.change().getPosture().name().replace("POSTURE_", "");
    if (news instanceof News.Forgot) return "forgotten";
    return "";
  }

  private void step(JsonObject step) throws Exception {
    String kind = step.keySet().iterator().next();
    String name = step.get(kind).isJsonPrimitive() ? step.get(kind).getAsString() : "";
    switch (kind) {
      case "stage" -> stage.command(step.getAsJsonObject("stage"));
      case "show" -> frames.put(name, session.show(stage.picture(step.get("picture").getAsString())));
      case "drop" -> session.drop(frames.get(name));
      case "say" -> turns.put(name, new Following(say(step)));
      case "listen" -> listen(step);
      case "ask" -> turns.put(name, new Following(ask(step)));
      case "after" -> eventually(() -> came(turns.get(name), step), step.toString());
      case "played" -> turns.get(name).turn.played(step.get("segment").getAsInt(), step.get("code_point").getAsInt());
      case "cancel" -> turns.get(name).turn.cancel();
      case "over" -> turns.get(name).over();
      case "device" -> session.device(device(step.getAsJsonObject("device")));
      case "forget" -> session.forget();
      case "told" -> eventually(() -> Collections.frequency(told(news), name) >= times(step), step.toString());
      case "close" -> session.close();
      case "anew" -> {
        session.close();
        session = Session.open(target, options().withState(session.state()), news::add);
      }
      case "hint" -> session.hintReconnect();
      case "links" -> eventually(() -> session.links() >= step.get("links").getAsInt(), step.toString());
      case "mark" -> marked = stage.command("up").getAsLong();
      default -> throw new AssertionError(step + " is no step");
    }
  }

  private Turn ask(JsonObject step) {
    AskRequest.Builder request = AskRequest.newBuilder().setQuestion(step.get("question").getAsString());
    if (step.has("frame")) request.addFrames(Frame.newBuilder().setSha256(frames.get(step.get("frame").getAsString())));
    return session.ask(request.build(), overlap(step));
  }

  private static SessionAsk.Overlap overlap(JsonObject step) {
    return SessionAsk.Overlap.valueOf("OVERLAP_" + (step.has("overlap") ? word(step, "overlap") : "INTERRUPT"));
  }

  /** Say tones and silence, in pieces of a tenth of a second, or packets of Opus. */
  private Turn say(JsonObject step) throws Exception {
    AskRequest.Builder request = AskRequest.newBuilder();
    if (step.has("frame")) request.addFrames(Frame.newBuilder().setSha256(frames.get(step.get("frame").getAsString())));
    SpeechStart.Builder start = SpeechStart.newBuilder().setRequest(request);
    start.setEndsBySilence(step.has("ends_by_silence") && step.get("ends_by_silence").getAsBoolean());
    if (step.has("opus")) start.setCodec(SpeechStart.Codec.CODEC_OPUS);
    List<byte[]> pieces = step.has("opus") ? packets(step) : tenths(step.getAsJsonArray("sound"));
    try (Spoken spoken = session.say(start.build())) {
      pieces.forEach(spoken::add);
      return spoken.turn();
    }
  }

  /** Open a microphone, and follow its turns by these names; what comes after them is nothing. */
  private void listen(JsonObject step) throws Exception {
    SpeechStart.Builder start = SpeechStart.newBuilder().setOverlap(overlap(step));
    start.setPauses(step.has("pauses") && step.get("pauses").getAsBoolean());
    Iterator<String> names = Following.strings(step.get("listen")).iterator();
    OpenMicrophone microphone = session.listen(start.build());
    try (microphone) {
      long tenth = 0;
      for (byte[] piece : tenths(step.getAsJsonArray("sound"))) microphone.add(piece, playing(step, tenth++));
    }
    heard = CompletableFuture.runAsync(() -> follow(microphone, names));
    if (!step.has("beside")) heard.get(WAIT_S, TimeUnit.SECONDS);
  }

  private void follow(OpenMicrophone microphone, Iterator<String> names) {
    for (Turn turn : microphone) {
      Following following = new Following(turn);
      if (names.hasNext()) {
        turns.put(names.next(), following);
      } else {
        behind.add(following);
      }
    }
  }

  /** What is played during a tenth of a second of the microphone; null: nothing. */
  private Playing playing(JsonObject step, long tenth) {
    if (!step.has("over")) return null;
    String id = turns.get(step.get("over").getAsString()).turn.id();
    return Playing.newBuilder().setAskId(id).setAtUs(100_000 * tenth).build();
  }

  private List<byte[]> packets(JsonObject step) throws Exception {
    return Following.strings(stage.command("opus", step.get("opus"))).stream().map(Base64.getDecoder()::decode).toList();
  }

  /** Tones, of so many hertz for so many seconds, and silence (0 hertz), in pieces of a tenth of a second. */
  static List<byte[]> tenths(JsonArray sound) {
    List<byte[]> pieces = new ArrayList<>();
    for (JsonElement each : sound) {
      double hertz = each.getAsJsonArray().get(0).getAsDouble();
      long tenths = Math.round(10 * each.getAsJsonArray().get(1).getAsDouble());
      for (int at = 0; at < tenths; at++) pieces.add(tenth(hertz, at * RATE_HZ / 10));
    }
    return pieces;
  }

  /** A tenth of a second of a tone, from one of its samples on. */
  private static byte[] tenth(double hertz, int from) {
    ByteBuffer sound = ByteBuffer.allocate(2 * RATE_HZ / 10).order(ByteOrder.LITTLE_ENDIAN);
    for (int at = from; sound.hasRemaining(); at++) {
      sound.putShort((short) (8_000 * Math.sin(2 * Math.PI * hertz * at / RATE_HZ)));
    }
    return sound.array();
  }

  private static DeviceState device(JsonObject state) {
    DeviceState.Builder device = DeviceState.newBuilder();
    if (state.has("battery")) device.setBatteryPercent(state.get("battery").getAsInt());
    if (state.has("charging")) device.setCharging(state.get("charging").getAsBoolean());
    if (state.has("heat")) device.setHeat(DeviceState.Heat.valueOf("HEAT_" + word(state, "heat")));
    if (state.has("link")) device.setLink(DeviceState.Link.valueOf("LINK_" + word(state, "link")));
    return device.build();
  }

  private static String word(JsonObject state, String key) {
    return state.get(key).getAsString().toUpperCase(Locale.ROOT);
  }

  private static int times(JsonObject step) {
    return step.has("times") ? step.get("times").getAsInt() : 1;
  }

  private void checkReceipt(JsonObject counts) {
    for (News each : news) {
      if (!(each instanceof News.Forgot forgot)) continue;
      for (String name : counts.keySet()) {
        FieldDescriptor field = Forgotten.getDescriptor().findFieldByName(name);
        assertEquals(counts.get(name).getAsInt(), forgot.receipt().getField(field), name);
      }
    }
  }

  private static boolean came(Following turn, JsonObject step) {
    if (step.has("states")) return turn != null && turn.states() >= step.get("states").getAsInt();
    if (step.has("events")) return turn.updates.size() >= step.get("events").getAsInt();
    return turn.segments().size() >= step.get("segments").getAsInt();
  }

  private void check() throws Exception {
    heard.get(WAIT_S, TimeUnit.SECONDS);
    for (Following each : behind) {
      each.over();
      assertEquals("", each.heard(), "what is heard behind the last question");
    }
    for (Map.Entry<String, JsonElement> turn : scenario.getAsJsonObject("turns").entrySet()) {
      turns.get(turn.getKey()).check(turn.getValue().getAsJsonObject());
    }
    List<String> inferred = Following.strings(stage.command("inferred"));
    assertEquals(Following.strings(scenario.get("inferred")), inferred, "questions that a model was asked");
    if (scenario.has("sounds")) {
      List<Double> sounds = new ArrayList<>();
      for (JsonElement seconds : stage.command("sounds").getAsJsonArray()) sounds.add(seconds.getAsDouble());
      List<Double> wanted = new ArrayList<>();
      for (JsonElement seconds : scenario.getAsJsonArray("sounds")) wanted.add(seconds.getAsDouble());
      assertEquals(wanted, sounds, "seconds of sound that the recogniser was given");
    }
    if (scenario.has("links")) assertEquals(scenario.get("links").getAsInt(), session.links(), "links");
    long up = stage.command("up").getAsLong() - marked;
    if (scenario.has("up_at_most")) assertTrue(up <= scenario.get("up_at_most").getAsLong(), () -> up + " bytes went up");
  }
}
