package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.RetryInfo;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import quizglass.v1.ClientMessage;
import quizglass.v1.DeviceState;
import quizglass.v1.FrameStatus;
import quizglass.v1.Opened;
import quizglass.v1.OutputProfile;
import quizglass.v1.ServerMessage;
import quizglass.v1.SessionLimits;
import quizglass.v1.SessionServiceGrpc;
import quizglass.v1.SpeechStart;

/** What only this client does: connecting, patience, closing, interrupted threads, and the events that a program gets. */
@Timeout(60)
class SessionTest {
  private static final JsonObject USUAL = new JsonObject();
  private static final JsonObject WAITS =
      JsonParser.parseString("{\"answers\": {\"Count.\": {\"words\": 4, \"hold\": 2}}}").getAsJsonObject();
  private static Stage stage;

  @BeforeAll
  static void begin() throws IOException {
    stage = Stage.shared();
  }

  @Test
  void aMissingServerIsReportedAtOnce() {
    SessionOptions options = Stage.PATIENT.withConnectTimeout(Duration.ofSeconds(50));
    var error = assertThrows(
        ClientException.ServerUnavailable.class, () -> Session.open("127.0.0.1:1", options, news -> {}));
    assertTrue(error.getMessage().contains("Connection refused"), error.getMessage());
  }

  @Test
  void whatIsNoAddressIsToldBeforeAnybodyIsLookedFor() {
    for (String target : List.of(
        "http://127.0.0.1:50062", "localhost", "127.0.0.1", ":50061", "glasses:", "::1", "h:x", "", "h:0", "h:65536", "h:99999999999")) {
      var error = assertThrows(ClientException.InvalidRequest.class, () -> Session.open(target));
      assertEquals("target", error.field());
      assertTrue(error.getMessage().contains("such as 127.0.0.1:50061"), error.getMessage());
    }
  }

  @Test
  void aPeerThatNeverSpeaksIsGivenUpInTime() throws IOException {
    SessionOptions options = Stage.PATIENT.withConnectTimeout(Duration.ofMillis(300));
    try (ServerSocket silent = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      String target = "127.0.0.1:" + silent.getLocalPort();
      var error = assertThrows(ClientException.ServerUnavailable.class, () -> Session.open(target, options, news -> {}));
      assertEquals(target + " does not answer within 0.3 s", error.getMessage());
    }
  }

  @Test
  void aServerThatHearsNothingIsNotSpokenTo() {
    try (Session session = Session.open(stage.begin(WAITS), Stage.PATIENT, news -> {})) {
      var error = assertThrows(ClientException.InvalidRequest.class, () -> session.say(SpeechStart.getDefaultInstance()));
      assertEquals("start", error.field());
      assertTrue(error.getMessage().contains("hears nothing"), error.getMessage());
    }
  }

  @Test
  void aSessionIsGivenUpWhenPatienceEnds() {
    SessionOptions options = Stage.PATIENT.withPatience(Duration.ofMillis(300));
    try (Session session = Session.open(stage.begin(WAITS), options, news -> {})) {
      Turn turn = session.ask("Count.");
      stage.command("reached", "Count.");
      stage.command("refuse", new JsonPrimitive(true));
      stage.command("cut", "rst");
      var error = assertThrows(ClientException.ServerUnavailable.class, turn::answer);
      assertTrue(error.getMessage().startsWith("no link for 0.3 s: "), error.getMessage());
      assertThrows(ClientException.ServerUnavailable.class, () -> session.ask("Again?"));
    }
  }

  @Test
  void aClosedSessionEndsItsTurns() {
    Session session = Session.open(stage.begin(WAITS), Stage.PATIENT, news -> {});
    Turn turn = session.ask("Count.");
    stage.command("reached", "Count.");
    session.close();
    assertEquals("CLOSED", assertThrows(ClientException.Cancelled.class, turn::answer).reason());
    assertThrows(ClientException.Cancelled.class, () -> session.ask("Again?"));
    turn.cancel();
    turn.played(0, 3);
    session.close();
  }

  @Test
  void aClosedSessionLeavesNoThread() throws InterruptedException {
    SessionOptions options = Stage.PATIENT.withConnectTimeout(Duration.ofHours(1));
    CompletableFuture<Thread> own = new CompletableFuture<>();
    Session session = Session.open(stage.begin(USUAL), options, news -> own.complete(Thread.currentThread()));
    session.show(stage.picture("small"));
    Thread thread = own.join();
    session.close();
    thread.join();
  }

  @Test
  void whatCouldNotBeReadOfAnErrorsDetailsLeavesItsStatus() throws IOException {
    Metadata details = new Metadata();
    details.put(Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {-1});
    var full = new StatusRuntimeException(Status.RESOURCE_EXHAUSTED.withDescription("full"), details);
    Server refusing = ServerBuilder.forPort(0).addService(new Refusing(full)).build().start();
    try {
      var error = assertThrows(ClientException.Overloaded.class, () -> Session.open("127.0.0.1:" + refusing.getPort()));
      assertEquals("full", error.getMessage());
    } finally {
      refusing.shutdownNow();
    }
  }

  private static final class Refusing extends SessionServiceGrpc.SessionServiceImplBase {
    private final StatusRuntimeException error;

    private Refusing(StatusRuntimeException error) {
      this.error = error;
    }

    @Override
    public StreamObserver<ClientMessage> converse(StreamObserver<ServerMessage> down) {
      down.onError(error);
      return new Ignoring();
    }
  }

  /** Takes what a client says. */
  private static class Ignoring implements StreamObserver<ClientMessage> {
    @Override
    public void onNext(ClientMessage said) {}

    @Override
    public void onError(Throwable gone) {}

    @Override
    public void onCompleted() {}
  }

  @Test
  void aTurnThatEndsWhileItIsCancelledIsNotCancelledOverEveryLinkThereafter() throws Exception {
    CompletableFuture<ClientMessage.MessageCase> first = new CompletableFuture<>();
    Server listening = ServerBuilder.forPort(0).addService(new Listening(first)).build().start();
    try (Session session = Session.open("127.0.0.1:" + listening.getPort(), Stage.PATIENT, news -> {})) {
      session.cancel("over"); // as a turn does that was not over when it looked
      session.ask("What?");
      assertEquals(ClientMessage.MessageCase.ASK, first.join());
    } finally {
      listening.shutdownNow();
    }
  }

  /** Opens every session, and tells what a client says first after that. */
  private static final class Listening extends SessionServiceGrpc.SessionServiceImplBase {
    private final CompletableFuture<ClientMessage.MessageCase> first;

    private Listening(CompletableFuture<ClientMessage.MessageCase> first) {
      this.first = first;
    }

    @Override
    public StreamObserver<ClientMessage> converse(StreamObserver<ServerMessage> down) {
      return new Ignoring() {
        @Override
        public void onNext(ClientMessage said) {
          if (said.hasOpen()) down.onNext(opening());
          else if (said.hasClose()) down.onCompleted();
          else first.complete(said.getMessageCase());
        }
      };
    }
  }

  private static ServerMessage opening() {
    SessionLimits.Builder limits = SessionLimits.newBuilder().setPingUs(3_600_000_000L).setProgressUs(3_600_000_000L);
    Opened.Builder open = Opened.newBuilder().setSessionId("one").setRestored(Opened.Restored.RESTORED_ALL);
    return ServerMessage.newBuilder().setOpened(open.setLimits(limits)).build();
  }

  /** It asks for longer than the session's patience, so that the session is given up at once. */
  @Test
  void aServerThatAsksToBeLeftAloneIsLeftAlone() throws Exception {
    var retry = RetryInfo.newBuilder().setRetryDelay(com.google.protobuf.Duration.newBuilder().setSeconds(3_600));
    var full = com.google.rpc.Status.newBuilder().setCode(Status.Code.RESOURCE_EXHAUSTED.value()).setMessage("full");
    var error = StatusProto.toStatusRuntimeException(full.addDetails(Any.pack(retry.build())).build());
    Server server = ServerBuilder.forPort(0).addService(new OnceBrief(error)).build().start();
    SessionOptions options = Stage.PATIENT.withPatience(Duration.ofMinutes(10));
    try (Session session = Session.open("127.0.0.1:" + server.getPort(), options, news -> {})) {
      var given = assertThrows(ClientException.ServerUnavailable.class, () -> session.ask("What?").answer());
      assertEquals("no link for 600 s: full", given.getMessage());
      assertEquals(1, session.links());
    } finally {
      server.shutdownNow();
    }
  }

  /** Opens one session and ends its link at once; refuses whoever comes then. */
  private static final class OnceBrief extends SessionServiceGrpc.SessionServiceImplBase {
    private final Brief brief = new Brief();
    private final StatusRuntimeException error;
    private boolean begun;

    private OnceBrief(StatusRuntimeException error) {
      this.error = error;
    }

    @Override
    public synchronized StreamObserver<ClientMessage> converse(StreamObserver<ServerMessage> down) {
      if (begun) return new Refusing(error).converse(down);
      begun = true;
      return brief.converse(down);
    }
  }

  /** The pauses alone would be longer than the test. */
  @Test
  void aQuestionWaitsForNoPauseBetweenAttempts() throws Exception {
    Server brief = ServerBuilder.forPort(0).addService(new Brief()).build().start();
    CompletableFuture<Session> opened = new CompletableFuture<>();
    Consumer<News> asks =
        news -> {
          if (news instanceof News.Lost) opened.thenAccept(session -> session.ask("And now?"));
        };
    try (Session session = Session.open("127.0.0.1:" + brief.getPort(), Stage.PATIENT, asks)) {
      opened.complete(session);
      Replay.eventually(() -> session.links() > 30, "many links");
    } finally {
      brief.shutdownNow();
    }
  }

  @Test
  void anInvalidDeviceIsReportedToNoListener() {
    List<News> news = new CopyOnWriteArrayList<>();
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, news::add)) {
      var much = DeviceState.newBuilder().setBatteryPercent(150).build();
      var error = assertThrows(ClientException.InvalidRequest.class, () -> session.device(much));
      assertEquals("battery_percent", error.field());
      assertEquals("battery_percent: 150 is not between 0 and 100", error.getMessage());
      session.ask("What?").answer();
    }
    assertFalse(news.stream().anyMatch(News.Failed.class::isInstance));
  }

  @Test
  void afterACutItsPicturesAndItsDialogueAreThere() throws InterruptedException {
    List<News> news = new CopyOnWriteArrayList<>();
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, news::add)) {
      ByteString frame = session.show(stage.picture("small"), true);
      assertEquals("45 crowns", session.ask("What is it?", frame).answer().text());
      stage.command("cut", "rst");
      Replay.eventually(() -> session.links() > 1, "a new link");
      assertEquals("45 crowns", session.ask("And now?", frame).answer().text());
      assertTrue(session.limits().getUsefulPictureSide() > 0);
    }
    assertEquals(Set.of("lost", "restored ALL"), Set.copyOf(Replay.told(news)));
    assertTrue(news.stream().anyMatch(SessionTest::tellsOfAPictureThatIsThere));
  }

  /** The pauses alone would be longer than the session's patience. */
  @Test
  void aHintDuringAnAttemptHasTheNextOneBegunAtOnce() throws Exception {
    SessionOptions options = Stage.PATIENT.withPatience(Duration.ofSeconds(4));
    String server = stage.begin(USUAL);
    try (ServerSocket door = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      var opening = CompletableFuture.supplyAsync(() -> Session.open("127.0.0.1:" + door.getLocalPort(), options, news -> {}));
      Socket first = door.accept();
      relay(first, server);
      try (Session session = opening.get()) {
        first.close();
        for (int attempt = 0; attempt < 8; attempt++) {
          Socket silent = door.accept();
          session.hintReconnect();
          silent.close();
        }
        relay(door.accept(), server);
        assertEquals("45 crowns", session.ask("What?").answer().text());
      }
    }
  }

  @Test
  void aHintEndsAnAttemptThatIsNotAnswered() throws Exception {
    SessionOptions options = Stage.PATIENT.withConnectTimeout(Duration.ofMinutes(10));
    String server = stage.begin(USUAL);
    try (ServerSocket door = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      var opening = CompletableFuture.supplyAsync(() -> Session.open("127.0.0.1:" + door.getLocalPort(), options, news -> {}));
      Socket first = door.accept();
      relay(first, server);
      try (Session session = opening.get()) {
        first.close();
        Socket silent = door.accept();
        session.hintReconnect();
        relay(door.accept(), server);
        assertEquals("45 crowns", session.ask("What?").answer().text());
        silent.close();
      }
    }
  }

  @Test
  void linksThatBringNothingAndBreakAreNotMadeWithoutAPause() throws IOException {
    SessionOptions options = Stage.PATIENT.withPatience(Duration.ofMillis(300));
    Server brief = ServerBuilder.forPort(0).addService(new Brief()).build().start();
    try (Session session = Session.open("127.0.0.1:" + brief.getPort(), options, news -> {})) {
      var error = assertThrows(ClientException.ServerUnavailable.class, session.ask("What?")::answer);
      assertEquals("no link for 0.3 s: the server ended it", error.getMessage());
      assertTrue(session.links() <= 5);
    } finally {
      brief.shutdownNow();
    }
  }

  /** Opens every session, and ends every link at once. */
  private static final class Brief extends SessionServiceGrpc.SessionServiceImplBase {
    @Override
    public StreamObserver<ClientMessage> converse(StreamObserver<ServerMessage> down) {
      return new Ignoring() {
        private boolean opened;

        @Override
        public void onNext(ClientMessage said) {
          if (opened) return;
          opened = true;
          down.onNext(opening());
          down.onCompleted();
        }
      };
    }
  }

  /** Pass on what comes, in both directions, until one side ends. */
  private static void relay(Socket client, String target) throws IOException {
    int port = Integer.parseInt(target.substring(target.indexOf(':') + 1));
    Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
    for (List<Socket> way : List.of(List.of(client, server), List.of(server, client))) {
      Thread passing =
          new Thread(
              () -> {
                try (Socket from = way.get(0);
                    Socket to = way.get(1)) {
                  from.getInputStream().transferTo(to.getOutputStream());
                } catch (IOException ended) {
                  // as it is to be
                }
              });
      passing.setDaemon(true);
      passing.start();
    }
  }

  @Test
  void aPictureThatIsNoneIsToldBeforeAnybodyAsks() throws InterruptedException {
    List<News> news = new CopyOnWriteArrayList<>();
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, news::add)) {
      session.show(stage.picture("broken"));
      Replay.eventually(() -> news.stream().anyMatch(SessionTest::tellsOfAPictureThatIsNone), "a notice");
    }
  }

  private static boolean tellsOfAPictureThatIsThere(News news) {
    return news instanceof News.Frame frame && frame.status().getState() == FrameStatus.State.STATE_HELD;
  }

  private static boolean tellsOfAPictureThatIsNone(News news) {
    return news instanceof News.Failed failed && failed.notice().getReason().equals("INVALID_PICTURE");
  }

  @Test
  void whatCannotBeAskedIsNamedAndLeavesTheSessionUsable() {
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, news -> {})) {
      var error = assertThrows(ClientException.InvalidRequest.class, () -> session.ask("x".repeat(300_000)));
      assertEquals("question", error.field());
      Turn unnamed = session.ask("What?", ByteString.copyFromUtf8("abc"));
      assertEquals("INVALID_FIELD", assertThrows(ClientException.InvalidRequest.class, unnamed::answer).reason());
      assertEquals("45 crowns", session.ask("What?").answer().text());
    }
  }

  @Test
  void whatTheServerRefusesToOpenIsToldAsItsError() {
    SessionOptions options = Stage.PATIENT.withOutput(OutputProfile.newBuilder().setMaxWords(1).build());
    String target = stage.begin(USUAL);
    var error = assertThrows(ClientException.InvalidRequest.class, () -> Session.open(target, options, news -> {}));
    assertEquals("open.output.max_words", error.field());
    assertEquals("INVALID_FIELD", error.reason());
  }

  @Test
  void optionsOutOfTheirBoundsAreNamed() {
    SessionOptions usual = Stage.PATIENT;
    wrong("connectTimeout", () -> usual.withConnectTimeout(Duration.ZERO));
    wrong("patience", () -> usual.withPatience(Duration.ofSeconds(-1)));
    wrong("keepalive", () -> usual.withKeepalive(Duration.ofSeconds(9)));
    wrong("state", () -> usual.withState(ByteString.copyFromUtf8("short")));
    for (String name : List.of("a b", "token-bin", "")) wrong("metadata", () -> usual.withMetadata(Map.of(name, "secret")));
    for (String value : List.of("Bearer secret\n", "schlüssel")) {
      wrong("metadata", () -> usual.withMetadata(Map.of("authorization", value)));
    }
    usual.withMetadata(Map.of("Authorization", "Bearer secret"));
  }

  private static void wrong(String option, Runnable set) {
    var error = assertThrows(IllegalArgumentException.class, set::run);
    assertTrue(error.getMessage().startsWith(option + ": "), error.getMessage());
  }

  @Test
  void keepaliveAndPrivacyLeaveASessionAsItIs() {
    SessionOptions options = Stage.PATIENT.withKeepalive(Duration.ofSeconds(30)).withLocalOnly(true);
    try (Session session = Session.open(stage.begin(USUAL), options, news -> {})) {
      assertEquals("45 crowns", session.ask("What?").answer().text());
    }
  }

  @Test
  void aThreadThatIsInterruptedWaitsNoLongerAndTheTurnGoesOn() {
    try (Session session = Session.open(stage.begin(WAITS), Stage.PATIENT, news -> {})) {
      Turn turn = session.ask("Count.");
      Thread.currentThread().interrupt();
      assertEquals("THREAD_INTERRUPTED", assertThrows(ClientException.Cancelled.class, turn::answer).reason());
      assertTrue(Thread.interrupted());
      stage.command("release", "Count.");
      assertEquals("w0. w1. w2. w3.", turn.answer().text());
    }
  }

  @Test
  void whatAListenerRaisesLeavesTheSessionUsable() {
    List<Throwable> raised = new CopyOnWriteArrayList<>();
    Consumer<News> listener =
        news -> {
          throw new IllegalStateException("mine");
        };
    Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler((thread, error) -> raised.add(error));
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, listener)) {
      ByteString frame = session.show(stage.picture("small"));
      assertEquals("45 crowns", session.ask("What?", frame).answer().text());
    } finally {
      Thread.setDefaultUncaughtExceptionHandler(before);
    }
    assertEquals("mine", raised.get(0).getMessage());
  }

  @Test
  void aTurnIsIteratedOnceAndEndsThere() {
    try (Session session = Session.open(stage.begin(USUAL), Stage.PATIENT, news -> {})) {
      Turn turn = session.ask("What?");
      turn.answer();
      assertTrue(turn.iterator().hasNext());
      for (TurnSaid said : turn) assertTrue(said instanceof TurnSaid.Updated, said.toString());
      assertFalse(turn.iterator().hasNext());
      assertThrows(NoSuchElementException.class, turn.iterator()::next);
    }
  }
}
