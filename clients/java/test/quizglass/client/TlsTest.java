package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerCredentials;
import io.grpc.ServerInterceptor;
import io.grpc.TlsChannelCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import quizglass.v1.ClientMessage;
import quizglass.v1.Opened;
import quizglass.v1.ServerMessage;
import quizglass.v1.SessionLimits;
import quizglass.v1.SessionServiceGrpc;

/** A session over TLS, with what a proxy before the server asks for. */
@Timeout(60)
class TlsTest {
  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  private static final Map<String, String> TOKEN = Map.of("authorization", "Bearer secret");

  private final List<String> tokens = new CopyOnWriteArrayList<>();
  private Server server;

  @AfterEach
  void end() {
    if (server != null) server.shutdownNow();
  }

  @Test
  void aTokenGoesWithALinkInClear() throws IOException {
    serve(InsecureServerCredentials.create());
    Session.open(target(), Stage.PATIENT.withMetadata(TOKEN), news -> {}).close();
    assertEquals(List.of("Bearer secret"), tokens);
  }

  @Test
  void aSessionGoesOverTlsWithAToken(@TempDir Path folder) throws IOException, InterruptedException {
    var trusting = TlsChannelCredentials.newBuilder().trustManager(serveOverTls(folder)).build();
    Session.open(target(), Stage.PATIENT.withCredentials(trusting).withMetadata(TOKEN), news -> {}).close();
    assertEquals(List.of("Bearer secret"), tokens);
  }

  @Test
  void aTokenGoesWithALinkToThisMachineAndIsNotShown() throws IOException {
    serve(InsecureServerCredentials.create());
    SessionOptions options = Stage.PATIENT.withToken("secret");
    Session.open(target(), options, news -> {}).close();
    assertEquals(List.of("Bearer secret"), tokens);
    assertFalse(options.toString().contains("secret"));
  }

  @Test
  void aTokenIsReadFromAFile(@TempDir Path folder) throws IOException {
    serve(InsecureServerCredentials.create());
    SessionOptions options = Stage.PATIENT.withTokenFile(Files.writeString(folder.resolve("token"), "secret\n"));
    Session.open(target(), options, news -> {}).close();
    assertEquals(List.of("Bearer secret"), tokens);
    Path empty = Files.writeString(folder.resolve("empty"), "\n");
    assertThrows(IllegalArgumentException.class, () -> Stage.PATIENT.withTokenFile(empty));
    assertThrows(IOException.class, () -> Stage.PATIENT.withTokenFile(folder.resolve("absent")));
  }

  @Test
  void aTokenThatTakesThePlaceOfAnotherInItsFileGoesWithTheNextLink(@TempDir Path folder) throws Exception {
    serve(InsecureServerCredentials.create());
    Path file = Files.writeString(folder.resolve("token"), "secret\n");
    try (Session session = Session.open(target(), Stage.PATIENT.withMetadata(TOKEN).withTokenFile(file), news -> {})) {
      for (String next : List.of("other", "two words")) {
        Files.writeString(file, next);
        int links = session.links();
        session.hintReconnect(); // the server of this test answers no ping
        Replay.eventually(() -> session.links() > links, "another link");
      }
    }
    assertEquals(List.of("Bearer secret", "Bearer other", "Bearer other"), tokens);
  }

  @Test
  void aTokenIsReadFromTheFileThatTheEnvironmentNames(@TempDir Path folder) throws IOException, InterruptedException {
    serve(InsecureServerCredentials.create());
    Path file = Files.writeString(folder.resolve("token"), "secret\n");
    assertEquals("", opening(file, target()));
    assertEquals("QUIZGLASS_TOKEN_FILE", opening(file, "192.0.2.7:1"));
    assertEquals("QUIZGLASS_TOKEN_FILE", opening(folder.resolve("absent"), target()));
    assertEquals("QUIZGLASS_TOKEN_FILE", opening(Files.writeString(folder.resolve("none"), "two words"), target()));
    assertEquals(List.of("Bearer secret"), tokens);
  }

  /** The field that is wrong where a program opens a session, which has this file's name in its environment; empty: none is. */
  private static String opening(Path file, String target) throws IOException, InterruptedException {
    String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
    List<String> command = List.of(java, "-cp", System.getProperty("java.class.path"), Opener.class.getName(), target);
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().put("QUIZGLASS_TOKEN_FILE", file.toString());
    Process program = builder.start();
    String said = new String(program.getInputStream().readAllBytes());
    assertEquals(0, program.waitFor());
    return said;
  }

  /** A program that opens a session. */
  static final class Opener {
    public static void main(String[] arguments) {
      try {
        Session.open(arguments[0], SessionOptions.DEFAULT.withConnectTimeout(Duration.ofSeconds(60)), news -> {}).close();
      } catch (ClientException.InvalidRequest refusal) {
        System.out.print(refusal.field());
      }
    }
  }

  @Test
  void aTokenIsNotSentInClearBeyondThisMachine() {
    SessionOptions options = Stage.PATIENT.withToken("secret");
    for (String target : List.of("192.0.2.7:1", "localhost.example:1", "127.example:1")) {
      var refusal =
          assertThrows(ClientException.InvalidRequest.class, () -> Session.open(target, options, news -> {}));
      assertEquals("token", refusal.field());
    }
    for (String token : List.of("", "two words", "secret\n")) {
      assertThrows(IllegalArgumentException.class, () -> Stage.PATIENT.withToken(token));
    }
  }

  @Test
  void aCertificateThatIsNotTrustedIsToldOf(@TempDir Path folder) throws IOException, InterruptedException {
    serveOverTls(folder);
    SessionOptions options = Stage.PATIENT.withCredentials(TlsChannelCredentials.create());
    assertThrows(ClientException.ServerUnavailable.class, () -> Session.open(target(), options, news -> {}));
  }

  private String target() {
    return "localhost:" + server.getPort();
  }

  private void serve(ServerCredentials credentials) throws IOException {
    server =
        Grpc.newServerBuilderForPort(0, credentials)
            .addService(new Opening())
            .intercept(new Noting())
            .build()
            .start();
  }

  /** The certificate that is shown. The test ends here where Netty speaks no TLS: Debian's does only with its OpenSSL. */
  private File serveOverTls(Path folder) throws IOException, InterruptedException {
    File certificate = folder.resolve("certificate.pem").toFile();
    File key = folder.resolve("key.pem").toFile();
    String request = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost";
    String made = request + " -addext subjectAltName=DNS:localhost -keyout " + key + " -out " + certificate;
    assertEquals(0, new ProcessBuilder(made.split(" ")).redirectErrorStream(true).start().waitFor());
    try {
      serve(TlsServerCredentials.create(certificate, key));
    } catch (UnsupportedOperationException withoutAlpn) {
      assumeTrue(false, withoutAlpn.getMessage());
    }
    return certificate;
  }

  private final class Noting implements ServerInterceptor {
    @Override
    public <Asked, Told> ServerCall.Listener<Asked> interceptCall(
        ServerCall<Asked, Told> call, Metadata headers, ServerCallHandler<Asked, Told> next) {
      tokens.add(headers.get(AUTHORIZATION));
      return next.startCall(call, headers);
    }
  }

  /** Opens every session, and ends it when it is closed. */
  private static final class Opening extends SessionServiceGrpc.SessionServiceImplBase {
    @Override
    public StreamObserver<ClientMessage> converse(StreamObserver<ServerMessage> down) {
      return new StreamObserver<>() {
        @Override
        public void onNext(ClientMessage said) {
          SessionLimits limits =
              SessionLimits.newBuilder().setPingUs(3_600_000_000L).setProgressUs(3_600_000_000L).build();
          Opened opened = Opened.newBuilder().setSessionId("one").setLimits(limits).build();
          if (said.hasOpen()) down.onNext(ServerMessage.newBuilder().setOpened(opened).build());
          if (said.hasClose()) down.onCompleted();
        }

        @Override
        public void onError(Throwable error) {}

        @Override
        public void onCompleted() {}
      };
    }
  }
}
