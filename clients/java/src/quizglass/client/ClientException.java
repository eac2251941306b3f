package quizglass.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import quizglass.google.rpc.ErrorInfo;
import quizglass.v1.Notice;

/**
 * Base of everything a session raises. The reasons are in docs/protocol.md.
 *
 * <pre>
 * ClientException
 * ├── ServerUnavailable   nothing answers there, or not in time
 * ├── Overloaded          no room now
 * ├── DeadlineExceeded    no time was left to say anything
 * ├── Cancelled           the turn was interrupted, the session closed, or the thread that waits interrupted
 * ├── Unauthenticated     the server asks for a token, and no valid one came
 * ├── NotPermitted        the token does not allow it
 * ├── InvalidRequest      a field is wrong; {@link #field} names it
 * ├── NotFound            something named does not exist
 * ├── NotSupported        the server cannot do it
 * ├── SessionLost         the session could not be resumed, and a question was half answered: ask it again
 * └── ServerError         the server failed, or this client
 * </pre>
 */
public abstract sealed class ClientException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final Status.Code status;
  private final transient Details details;

  private ClientException(Status.Code status, String message, Details details) {
    super(message);
    this.status = status;
    this.details = details;
  }

  /** The status that a call ended with, or would have. */
  public Status.Code status() {
    return status;
  }

  /** Reason code of the server, e.g. INVALID_FIELD; empty when it sent none. */
  public String reason() {
    return details.reason;
  }

  /** Path of the field that is wrong, e.g. "ask.request.question"; empty when none is. */
  public String field() {
    return details.field;
  }

  /** More about it, as the server has it. */
  public Map<String, String> metadata() {
    return details.metadata;
  }

  /** Time after which another attempt may succeed; empty: not said. */
  public Optional<Duration> retryAfter() {
    return details.retryAfter;
  }

  /** More about an error. */
  record Details(String reason, String field, Map<String, String> metadata, Optional<Duration> retryAfter) {
    static final Details NONE = new Details("", "", Map.of(), Optional.empty());

    static Details reason(String reason) {
      return new Details(reason, "", Map.of(), Optional.empty());
    }

    static Details field(String field) {
      return new Details("INVALID_FIELD", field, Map.of(), Optional.empty());
    }
  }

  /** Nothing answers there, or not in time. */
  public static final class ServerUnavailable extends ClientException {
    private static final long serialVersionUID = 1L;

    ServerUnavailable(String message, Details details) {
      super(Status.Code.UNAVAILABLE, message, details);
    }
  }

  /** There is no room now. */
  public static final class Overloaded extends ClientException {
    private static final long serialVersionUID = 1L;

    Overloaded(String message, Details details) {
      super(Status.Code.RESOURCE_EXHAUSTED, message, details);
    }
  }

  /** No time was left to say anything. */
  public static final class DeadlineExceeded extends ClientException {
    private static final long serialVersionUID = 1L;

    DeadlineExceeded(String message, Details details) {
      super(Status.Code.DEADLINE_EXCEEDED, message, details);
    }
  }

  /** The turn was interrupted, the session closed, or the thread that waits interrupted. */
  public static final class Cancelled extends ClientException {
    private static final long serialVersionUID = 1L;

    Cancelled(String message, Details details) {
      super(Status.Code.CANCELLED, message, details);
    }

    /** The thread that waits was interrupted; its interrupt flag is set as well. */
    static Cancelled waiting() {
      Thread.currentThread().interrupt();
      return new Cancelled("the thread was interrupted while it waited", Details.reason("THREAD_INTERRUPTED"));
    }
  }

  /** The server asks for a token, and none came or it is not valid (any more). */
  public static final class Unauthenticated extends ClientException {
    private static final long serialVersionUID = 1L;

    Unauthenticated(String message, Details details) {
      super(Status.Code.UNAUTHENTICATED, message, details);
    }
  }

  /** The token does not allow it. */
  public static final class NotPermitted extends ClientException {
    private static final long serialVersionUID = 1L;

    NotPermitted(String message, Details details) {
      super(Status.Code.PERMISSION_DENIED, message, details);
    }
  }

  /** A field is wrong. */
  public static final class InvalidRequest extends ClientException {
    private static final long serialVersionUID = 1L;

    InvalidRequest(String message, Details details) {
      super(Status.Code.INVALID_ARGUMENT, message, details);
    }
  }

  /** Something named does not exist. */
  public static final class NotFound extends ClientException {
    private static final long serialVersionUID = 1L;

    NotFound(String message, Details details) {
      super(Status.Code.NOT_FOUND, message, details);
    }
  }

  /** The server cannot do it. */
  public static final class NotSupported extends ClientException {
    private static final long serialVersionUID = 1L;

    NotSupported(Status.Code status, String message, Details details) {
      super(status, message, details);
    }
  }

  /** The session could not be resumed, and a question was half answered, or the sound of a spoken one is gone (SOUND_LOST). */
  public static final class SessionLost extends ClientException {
    private static final long serialVersionUID = 1L;

    SessionLost(String message, Details details) {
      super(Status.Code.UNAVAILABLE, message, details);
    }
  }

  /** The server failed, or this client. */
  public static final class ServerError extends ClientException {
    private static final long serialVersionUID = 1L;

    ServerError(Status.Code status, String message, Details details) {
      super(status, message, details);
    }
  }

  /** The error of a failed call, with the details that google.rpc has for errors. */
  static ClientException of(Throwable failed) {
    Status status = Status.fromThrowable(failed);
    com.google.rpc.Status packed = details(failed);
    ErrorInfo info = unpacked(packed, ErrorInfo.getDefaultInstance());
    BadRequest bad = unpacked(packed, BadRequest.getDefaultInstance());
    RetryInfo retry = unpacked(packed, RetryInfo.getDefaultInstance());
    String field = bad.getFieldViolationsCount() > 0 ? bad.getFieldViolations(0).getField() : "";
    Optional<Duration> after =
        Optional.of(retry)
            .filter(RetryInfo::hasRetryDelay)
            .map(said -> Duration.ofSeconds(said.getRetryDelay().getSeconds(), said.getRetryDelay().getNanos()));
    return of(status.getCode(), told(status), new Details(info.getReason(), field, info.getMetadataMap(), after));
  }

  /** The details of a failed call; none where a proxy has something else there, since the status says enough. */
  private static com.google.rpc.Status details(Throwable failed) {
    try {
      com.google.rpc.Status packed = StatusProto.fromThrowable(failed);
      return packed == null ? com.google.rpc.Status.getDefaultInstance() : packed;
    } catch (IllegalArgumentException unreadable) {
      return com.google.rpc.Status.getDefaultInstance();
    }
  }

  /** What a status tells people: of a broken connection, gRPC has only "io exception", and why as its cause. */
  private static String told(Status status) {
    String description = status.getDescription() == null ? "" : status.getDescription();
    Throwable cause = status.getCause();
    if (cause == null || cause.getMessage() == null) return description;
    return description.lines().findFirst().orElse("the call failed") + ": " + cause.getMessage();
  }

  /** The error of a failure within a session: that of a call which failed so. */
  static ClientException of(Notice notice) {
    long afterUs = notice.getRetryAfterUs();
    Optional<Duration> after = afterUs > 0 ? Optional.of(Duration.ofNanos(1_000 * afterUs)) : Optional.empty();
    Details details = new Details(notice.getReason(), notice.getField(), notice.getMetadataMap(), after);
    return of(Status.fromCodeValue(notice.getStatus()).getCode(), notice.getText(), details);
  }

  private static ClientException of(Status.Code status, String said, Details details) {
    String message = said.isEmpty() ? status.name() : said;
    return switch (status) {
      case UNAVAILABLE -> new ServerUnavailable(message, details);
      case RESOURCE_EXHAUSTED -> new Overloaded(message, details);
      case DEADLINE_EXCEEDED -> new DeadlineExceeded(message, details);
      case CANCELLED -> new Cancelled(message, details);
      case UNAUTHENTICATED -> new Unauthenticated(message, details);
      case PERMISSION_DENIED -> new NotPermitted(message, details);
      case INVALID_ARGUMENT -> new InvalidRequest(message, details);
      case NOT_FOUND -> new NotFound(message, details);
      case FAILED_PRECONDITION, UNIMPLEMENTED -> new NotSupported(status, message, details);
      default -> new ServerError(status, message, details);
    };
  }

  /** The first detail of a kind; {@code none} when there is none that can be read. */
  private static <M extends Message> M unpacked(com.google.rpc.Status status, M none) {
    for (Any detail : status.getDetailsList()) {
      if (!detail.is(none.getClass())) continue;
      try {
        @SuppressWarnings("unchecked")
        M read = (M) detail.unpack(none.getClass());
        return read;
      } catch (InvalidProtocolBufferException unreadable) {
        return none; // the status says enough
      }
    }
    return none;
  }
}
