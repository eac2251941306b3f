package quizglass.client;

import com.google.protobuf.ByteString;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Pattern;
import quizglass.v1.OutputProfile;

/**
 * How a session is kept.
 *
 * @param connectTimeout time in which the server has to answer, at each attempt
 * @param patience time without a link after which the session is given up
 * @param keepalive silence after which gRPC asks the connection whether it is alive, at least 10 s; it has to be longer than
 *     the server's {@code least_keepalive_s}. Zero: never, because the session's own pings do that
 * @param output what answers should look like
 * @param localOnly whether what the session is given stays on the server's machine
 * @param state {@link Session#state} of an earlier session, whose dialogue goes on here; empty: a new one
 * @param credentials of TLS, such as {@code TlsChannelCredentials.create()}; {@code InsecureChannelCredentials}: the link is
 *     not encrypted
 * @param metadata goes with every link; {@link #withToken} adds the token that a server asks for
 * @param tokenFile has that token, and is read again for every link, so that another token can take its place; null: no file does
 */
public record SessionOptions(
    Duration connectTimeout,
    Duration patience,
    Duration keepalive,
    OutputProfile output,
    boolean localOnly,
    ByteString state,
    ChannelCredentials credentials,
    Map<String, String> metadata,
    Path tokenFile) {
  /** 5 s to connect, 120 s of patience, no keepalive, answers as they were written, a new dialogue, no TLS. */
  public static final SessionOptions DEFAULT =
      new SessionOptions(
          Duration.ofSeconds(5),
          Duration.ofSeconds(120),
          Duration.ZERO,
          OutputProfile.getDefaultInstance(),
          false,
          ByteString.EMPTY,
          InsecureChannelCredentials.create(),
          Map.of(),
          null);

  /** Bytes of the secret that a state begins with. */
  static final int HOLDER_BYTES = 32;

  /** Names the file of the token, where no other is given. */
  static final String TOKEN_FILE = "QUIZGLASS_TOKEN_FILE";

  private static final String AUTHORIZATION = "authorization";
  private static final Pattern LOCAL =
      Pattern.compile("unix:.*|(dns:/*)?(localhost|127(\\.\\d{1,3}){3}|\\[::1\\]):\\d+");
  private static final Duration LEAST_KEEPALIVE = Duration.ofSeconds(10);

  /** Raises {@link IllegalArgumentException}, which names the option, when one is out of its bounds. */
  public SessionOptions {
    if (connectTimeout.isZero() || connectTimeout.isNegative()) {
      throw new IllegalArgumentException("connectTimeout: " + connectTimeout + " is not above zero");
    }
    if (patience.isNegative()) throw new IllegalArgumentException("patience: " + patience + " is below zero");
    if (!keepalive.isZero() && keepalive.compareTo(LEAST_KEEPALIVE) < 0) {
      throw new IllegalArgumentException("keepalive: " + keepalive + " is neither zero nor 10 s or longer");
    }
    if (!state.isEmpty() && state.size() <= HOLDER_BYTES) {
      throw new IllegalArgumentException("state: " + state.size() + " bytes are no state of a session");
    }
    metadata = Map.copyOf(metadata);
    metadata.forEach(SessionOptions::checkSendable);
  }

  /** Errors do not tell a value, which may be a secret. */
  private static void checkSendable(String name, String value) {
    try {
      Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
    } catch (IllegalArgumentException wrong) {
      String has = "is no name of a text; one has letters, digits, '-', '_' and '.'";
      throw new IllegalArgumentException("metadata: \"" + name + "\" " + has, wrong);
    }
    if (!value.chars().allMatch(each -> ' ' <= each && each <= '~')) {
      String holds = "holds a line break or another character that is not printable ASCII; strip what was read from a file";
      throw new IllegalArgumentException("metadata: the value of \"" + name + "\" " + holds);
    }
  }

  /** These, with another time to connect in. */
  public SessionOptions withConnectTimeout(Duration timeout) {
    return new SessionOptions(timeout, patience, keepalive, output, localOnly, state, credentials, metadata, tokenFile);
  }

  /** These, with another patience. */
  public SessionOptions withPatience(Duration longest) {
    return new SessionOptions(connectTimeout, longest, keepalive, output, localOnly, state, credentials, metadata, tokenFile);
  }

  /** These, with another keepalive. */
  public SessionOptions withKeepalive(Duration silence) {
    return new SessionOptions(connectTimeout, patience, silence, output, localOnly, state, credentials, metadata, tokenFile);
  }

  /** These, with answers of another look. */
  public SessionOptions withOutput(OutputProfile profile) {
    return new SessionOptions(connectTimeout, patience, keepalive, profile, localOnly, state, credentials, metadata, tokenFile);
  }

  /** These, with another decision about what may leave the server's machine. */
  public SessionOptions withLocalOnly(boolean stays) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, stays, state, credentials, metadata, tokenFile);
  }

  /** These, for a session that goes on with the dialogue of an earlier one. */
  public SessionOptions withState(ByteString earlier) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, earlier, credentials, metadata, tokenFile);
  }

  /** These, over TLS. */
  public SessionOptions withCredentials(ChannelCredentials tls) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, state, tls, metadata, tokenFile);
  }

  /** These, with what a proxy before the server asks for. */
  public SessionOptions withMetadata(Map<String, String> sent) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, state, credentials, sent, tokenFile);
  }

  /**
   * These, with the token that the server asks for. It goes over TLS only, unless the server is on this machine.
   *
   * @throws IllegalArgumentException it is no token
   */
  public SessionOptions withToken(String token) {
    return withAuthorization("Bearer " + KeptToken.checked(token), null);
  }

  /**
   * These, with the token that a file has, as {@link #withToken}. It is read again for every link; while it has no token then, as in the
   * middle of being written, the one before goes with that. {@link Session#open} does so by itself with the file that the
   * variable {@code QUIZGLASS_TOKEN_FILE} of the environment names, unless these have an {@code authorization} already.
   *
   * @throws IOException the file cannot be read
   * @throws IllegalArgumentException it has no token
   */
  public SessionOptions withTokenFile(Path file) throws IOException {
    KeptToken.read(file);
    return withAuthorization("", file);
  }

  /** These, with a header in place of the one that they may have (empty: none), and a file whose token goes into another one. */
  private SessionOptions withAuthorization(String header, Path file) {
    Map<String, String> sent = new HashMap<>(metadata);
    sent.keySet().removeIf(AUTHORIZATION::equalsIgnoreCase);
    if (!header.isEmpty()) sent.put(AUTHORIZATION, header);
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, state, credentials, sent, file);
  }

  /** What goes with a link, with a token of the file (empty: none). */
  Map<String, String> sent(String token) {
    return token.isEmpty() ? metadata : withAuthorization("Bearer " + token, tokenFile).metadata();
  }

  /** Whether something that shows who comes goes with every link. */
  boolean authorized() {
    return tokenFile != null || metadata.keySet().stream().anyMatch(AUTHORIZATION::equalsIgnoreCase);
  }

  /** Whether a token would leave this machine in clear on its way to a server. */
  boolean exposes(String target) {
    return authorized()
        && credentials instanceof InsecureChannelCredentials
        && !LOCAL.matcher(target).matches();
  }

  /** Without the values of the metadata, which may be secret. */
  @Override
  public String toString() {
    return "SessionOptions[connectTimeout=%s, patience=%s, keepalive=%s, localOnly=%s, metadata=%s]"
        .formatted(connectTimeout, patience, keepalive, localOnly, metadata.keySet());
  }
}
