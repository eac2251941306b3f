package quizglass.client;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import quizglass.client.ClientException.Details;
import quizglass.v1.Ack;
import quizglass.v1.ClientMessage;
import quizglass.v1.Close;
import quizglass.v1.Open;
import quizglass.v1.Opened;
import quizglass.v1.Ping;
import quizglass.v1.PostureLimits;
import quizglass.v1.ServerMessage;
import quizglass.v1.SessionLimits;

/**
 * Keeps a session going: connects, resumes where it was when the link breaks, and says why when it cannot. All of it is for the
 * session's thread, but for what says otherwise.
 */
final class Keeper implements Link.Receiver {
  /** Whose links are kept. */
  interface Owner {
    /** Whether a question is not over. */
    boolean busy();

    /** There is a link, over which what may not have arrived is said again; {@code after} is the time without one, null for the first of a new dialogue. */
    void opened(Opened opened, Duration after);

    /** The link broke; another one is being made. */
    void lost(String reason);

    /** The server says something, once and in order. */
    void said(ServerMessage said);

    /** The session was given up, or closed. */
    void failed(ClientException error);
  }

  /** Messages, and bytes of them, after which they are acknowledged. */
  private static final int ACK_EVERY = 16;

  private static final int ACK_BYTES = 16 * 1024;

  /** Times of {@code SessionLimits.progress_us} without a word, during a turn, after which a link is dead. */
  private static final double SILENT_PROGRESS = 2.5;

  private static final long PROBE_MS = 1_000;
  private static final long FIRST_PAUSE_MS = 100;
  private static final long LONGEST_PAUSE_MS = 5_000;

  /** Statuses that another attempt does not change. */
  private static final Set<Status.Code> LASTING =
      Set.of(
          Status.Code.INVALID_ARGUMENT,
          Status.Code.UNIMPLEMENTED,
          Status.Code.PERMISSION_DENIED,
          Status.Code.UNAUTHENTICATED,
          Status.Code.ABORTED);

  private final String target;
  private final SessionOptions options;
  private final Owner owner;
  private final Outgoing outgoing;
  private final SessionThread thread;
  private final ByteString holder;

  /** Of the file that is read for every link; null: there is none. */
  private final KeptToken token;

  // Where the client is in its session.
  private String sessionId = "";
  private long seq;
  private volatile ByteString state;
  private int unacknowledged;
  private int unacknowledgedBytes;

  // The link; null while the next attempt is waited for.
  private Link link;
  private boolean linked;
  private long openedAt;

  /** Whether it has brought anything of the session, and not of itself alone. */
  private boolean brought;

  private long heardAt;
  private long askedAt;

  /** Whether the link was asked if it is alive, and has not said a word since. */
  private boolean asked;

  private Future<?> watching;
  private Future<?> retrying;
  private long lostAt = now();
  private long pause;

  /** Whether the network may have changed since an attempt began that has not come to anything yet. */
  private boolean hinted;

  private boolean closing;
  private boolean over;
  private volatile int links;
  private volatile SessionLimits limits = SessionLimits.getDefaultInstance();

  /** What holds in place of some limits, as the device is; null: those hold. */
  private PostureLimits posture;

  Keeper(String target, SessionOptions options, Owner owner, Outgoing outgoing, SessionThread thread) {
    this.target = target;
    this.options = options;
    this.owner = owner;
    this.outgoing = outgoing;
    this.thread = thread;
    token = options.tokenFile() == null ? null : new KeptToken(options.tokenFile());
    ByteString earlier = options.state();
    holder = earlier.isEmpty() ? secret() : earlier.substring(0, SessionOptions.HOLDER_BYTES);
    state = earlier.isEmpty() ? earlier : earlier.substring(SessionOptions.HOLDER_BYTES);
  }

  /** Links that there were so far. For any thread. */
  int links() {
    return links;
  }

  /** What the server has told of its limits. For any thread. */
  SessionLimits limits() {
    return limits;
  }

  /** The secret, and what the server has signed for it; empty where nothing was said. For any thread. */
  ByteString state() {
    ByteString signed = state;
    return signed.isEmpty() ? signed : holder.concat(signed);
  }

  /** Make a link, unless the session is over. */
  void connect() {
    if (over) return;
    retrying = null;
    linked = false;
    ClientMessage first = ClientMessage.newBuilder().setOpen(open()).build();
    Map<String, String> metadata = options.sent(token == null ? "" : token.current());
    Link made = new Link(target, options, metadata, first, thread, this);
    link = made;
    thread.after(options.connectTimeout().toMillis(), () -> unanswered(made));
  }

  /** Send what is to be sent, as far as the link carries it. */
  void pump() {
    if (!linked) return;
    for (ClientMessage said = outgoing.next(now()); said != null; said = outgoing.next(now())) link.send(said);
  }

  /** The network may have changed: see at once whether the link is alive, and do not wait to make a new one. */
  void hint() {
    if (retrying != null) {
      retrying.cancel(false);
      connect();
    } else if (!linked) {
      hinted = true;
      Link hurried = link;
      thread.after(
          PROBE_MS,
          () -> {
            if (!linked) broke(hurried, null, "there was no link yet when the network may have changed");
          });
    } else {
      Link probed = link;
      ping();
      long at = askedAt;
      thread.after(
          PROBE_MS,
          () -> {
            if (asked && askedAt == at) broke(probed, null, "the link is silent");
          });
    }
  }

  /** A question was asked: silence shows sooner now, and the next attempt is not waited for. */
  void stir() {
    if (retrying == null) {
      watch();
    } else {
      retrying.cancel(false);
      connect();
    }
  }

  /** Look whether the link is to be asked if it is alive, or is dead; sooner while a question is not over. */
  private void watch() {
    if (watching != null) watching.cancel(false);
    if (!linked) return;
    double pingMs = (posture == null ? limits.getPingUs() : posture.getPingUs()) / 1000.0;
    double silence = owner.busy() ? SILENT_PROGRESS * limits.getProgressUs() / 1000.0 : 2 * pingMs;
    double asks = Math.min(pingMs, silence / 2);
    long due = (long) Math.ceil(asked ? askedAt + silence - asks : heardAt + asks);
    if (now() < due) {
      watching = thread.after(due - now(), this::watch);
    } else if (asked) {
      broke(link, null, "the link is silent");
    } else {
      ping();
      watch();
    }
  }

  /** End the session: the server ends the link. */
  void close() {
    closing = true;
    if (linked) {
      outgoing.say(ClientMessage.newBuilder().setClose(Close.getDefaultInstance()).build());
      pump();
    } else {
      abandon();
    }
  }

  /** End the session without a word. */
  void abandon() {
    fail(new ClientException.Cancelled("the session was closed", Details.reason("CLOSED")));
  }

  /** Give the session up. */
  void fail(ClientException error) {
    if (over) return;
    over = true;
    leave();
    owner.failed(error);
  }

  @Override
  public void received(Link from, ServerMessage message) {
    if (from != link) return; // what an old link still says is said again by the new one
    heardAt = now();
    asked = false;
    if (!message.getState().isEmpty()) state = message.getState();
    if (linked) {
      take(message);
    } else if (message.hasOpened()) {
      opened(message.getOpened());
    } else {
      broke(from, null, "the server does not open the session");
    }
    pump();
  }

  @Override
  public void ended(Link old, ClientException error) {
    broke(old, error, error == null ? "the server ended it" : error.getMessage());
  }

  private Open open() {
    Open.Builder open = Open.newBuilder().setHolder(holder).setSessionId(sessionId).setState(state);
    if (!sessionId.isEmpty()) open.setLastSeq(seq);
    if (options.localOnly()) open.setPrivacy(Open.Privacy.PRIVACY_LOCAL_ONLY);
    return open.setOutput(options.output()).build();
  }

  private void opened(Opened opened) {
    boolean resumed = opened.getRestored() == Opened.Restored.RESTORED_ALL;
    boolean restores = !sessionId.isEmpty() || opened.getRestored() != Opened.Restored.RESTORED_UNSPECIFIED;
    Duration after = restores ? Duration.ofMillis(now() - lostAt) : null;
    if (!resumed) {
      seq = 0;
      posture = null;
    }
    sessionId = opened.getSessionId();
    limits = opened.getLimits();
    unacknowledged = 0;
    unacknowledgedBytes = 0;
    linked = true;
    openedAt = heardAt;
    brought = false;
    hinted = false; // a link that has just answered need not be doubted
    links += 1;
    owner.opened(opened, after);
    watch();
  }

  private void take(ServerMessage message) {
    boolean numbered =
        switch (message.getMessageCase()) {
          case OPENED, PROGRESS, GO_AWAY, PONG -> false;
          default -> true;
        };
    if (message.getSeq() > (numbered ? seq + 1 : seq) || (!numbered && message.getSeq() < seq)) {
      broke(link, null, "messages have got lost");
    } else if (message.hasPong()) {
      outgoing.pong(message.getPong().getPayload(), now());
    } else if (!numbered) {
      owner.said(message);
    } else if (message.getSeq() > seq) {
      acknowledge(message);
      if (message.hasPosture()) posture = message.getPosture().getLimits();
      if (message.hasForgotten()) state = ByteString.EMPTY;
      owner.said(message);
    }
  }

  private void acknowledge(ServerMessage message) {
    seq = message.getSeq();
    brought = true;
    unacknowledged += 1;
    unacknowledgedBytes += message.getSerializedSize();
    if (Turn.ends(message) || unacknowledged >= ACK_EVERY || unacknowledgedBytes >= ACK_BYTES) {
      unacknowledged = 0;
      unacknowledgedBytes = 0;
      outgoing.say(ClientMessage.newBuilder().setAck(Ack.newBuilder().setSeq(seq)).build());
    }
  }

  private void ping() {
    askedAt = now();
    asked = true;
    outgoing.say(ClientMessage.newBuilder().setPing(Ping.getDefaultInstance()).build());
    pump();
  }

  private void unanswered(Link made) {
    if (made != link || linked) return;
    String told = target + " does not answer within " + seconds(options.connectTimeout());
    broke(made, new ClientException.ServerUnavailable(told, Details.NONE), told);
  }

  /** A link has ended, or is of no use any more; {@code error} is null when it may be made anew whatever the reason. */
  private void broke(Link old, ClientException error, String reason) {
    if (old != link || over) return;
    boolean worked = linked;
    leave();
    if (closing) {
      abandon();
    } else if (error != null && lasts(error)) {
      fail(error);
    } else {
      if (worked) {
        lostAt = now();
        if (brought || lostAt - openedAt > LONGEST_PAUSE_MS) pause = 0; // else the next one may be of as little use
        owner.lost(reason);
      }
      retry(error == null ? 0 : error.retryAfter().map(Duration::toMillis).orElse(0L), reason);
    }
  }

  private boolean lasts(ClientException error) {
    return LASTING.contains(error.status()) || (links == 0 && !error.reason().equals("STOPPING"));
  }

  /** Make the next link after a while; {@code toldMs} is how long the server asks to be left alone. */
  private void retry(long toldMs, String reason) {
    long most = hinted ? 0 : pause;
    long least = hinted ? 0 : toldMs;
    hinted = false;
    if (Duration.ofMillis(now() - lostAt + Math.max(most, least)).compareTo(options.patience()) > 0) {
      String told = "no link for " + seconds(options.patience()) + ": " + reason;
      fail(new ClientException.ServerUnavailable(told, Details.NONE));
      return;
    }
    // Many clients lose the same server, and get the same hint.
    double share = ThreadLocalRandom.current().nextDouble(0.5, 1.0);
    retrying = thread.after((long) Math.max(most * share, least * (0.5 + share)), this::connect);
    pause = Math.min(Math.max(2 * pause, FIRST_PAUSE_MS), LONGEST_PAUSE_MS);
  }

  private void leave() {
    if (link != null) link.close();
    if (watching != null) watching.cancel(false);
    link = null;
    linked = false;
    asked = false;
  }

  private static ByteString secret() {
    byte[] bytes = new byte[SessionOptions.HOLDER_BYTES];
    new SecureRandom().nextBytes(bytes);
    return ByteString.copyFrom(bytes);
  }

  /** A duration for people: "0.3 s". */
  private static String seconds(Duration duration) {
    return String.valueOf(duration.toMillis() / 1000.0).replaceFirst("\\.0$", "") + " s";
  }

  /** Milliseconds from some moment on. */
  private static long now() {
    return TimeUnit.NANOSECONDS.toMillis(System.nanoTime());
  }
}
