package quizglass.client;

import com.google.protobuf.ByteString;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.Metadata;
import java.time.Duration;
import java.util.Map;
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
 * @param credentials of TLS, such as {@code TlsChannelCredentials.create()}, for a proxy before the server that ends it;
 *     {@code InsecureChannelCredentials}: the link is not encrypted
 * @param metadata goes with every link, such as {@code Map.of("authorization", "Bearer …")}, for a proxy that checks who calls
 */
public record SessionOptions(
    Duration connectTimeout,
    Duration patience,
    Duration keepalive,
    OutputProfile output,
    boolean localOnly,
    ByteString state,
    ChannelCredentials credentials,
    Map<String, String> metadata) {
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
          Map.of());

  /** Bytes of the secret that a state begins with. */
  static final int HOLDER_BYTES = 32;

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
    return new SessionOptions(timeout, patience, keepalive, output, localOnly, state, credentials, metadata);
  }

  /** These, with another patience. */
  public SessionOptions withPatience(Duration longest) {
    return new SessionOptions(connectTimeout, longest, keepalive, output, localOnly, state, credentials, metadata);
  }

  /** These, with another keepalive. */
  public SessionOptions withKeepalive(Duration silence) {
    return new SessionOptions(connectTimeout, patience, silence, output, localOnly, state, credentials, metadata);
  }

  /** These, with answers of another look. */
  public SessionOptions withOutput(OutputProfile profile) {
    return new SessionOptions(connectTimeout, patience, keepalive, profile, localOnly, state, credentials, metadata);
  }

  /** These, with another decision about what may leave the server's machine. */
  public SessionOptions withLocalOnly(boolean stays) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, stays, state, credentials, metadata);
  }

  /** These, for a session that goes on with the dialogue of an earlier one. */
  public SessionOptions withState(ByteString earlier) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, earlier, credentials, metadata);
  }

  /** These, for a proxy before the server that ends TLS. */
  public SessionOptions withCredentials(ChannelCredentials tls) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, state, tls, metadata);
  }

  /** These, with what a proxy before the server asks for. */
  public SessionOptions withMetadata(Map<String, String> sent) {
    return new SessionOptions(connectTimeout, patience, keepalive, output, localOnly, state, credentials, sent);
  }
}
