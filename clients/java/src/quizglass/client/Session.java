package quizglass.client;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import quizglass.client.ClientException.Details;
import quizglass.v1.AskRequest;
import quizglass.v1.CancelAsk;
import quizglass.v1.ClientMessage;
import quizglass.v1.DeviceState;
import quizglass.v1.Forget;
import quizglass.v1.Frame;
import quizglass.v1.Notice;
import quizglass.v1.Opened;
import quizglass.v1.Playback;
import quizglass.v1.ServerMessage;
import quizglass.v1.SessionAsk;
import quizglass.v1.SessionLimits;
import quizglass.v1.SpeechStart;

/**
 * A wearable's session with a quizglass server; safe to share between threads.
 *
 * <p>It lasts while links come and go: a broken link is made anew and goes on where it was, in the middle of an answer or of a
 * picture. What could not be saved is reported to the listener, and fails the questions that it concerns.
 *
 * <p>All that it raises is a {@link ClientException}. A thread that is interrupted while it waits gets {@link
 * ClientException.Cancelled}, and stays interrupted.
 */
public final class Session implements AutoCloseable {
  /** Bytes of a question: what servers take, less what goes around it. */
  private static final int MOST_ASK_BYTES = 250 * 1024;

  private static final long CLOSE_MS = 2_000;
  private static final int MOST_PORT = 65_535;

  /** What gRPC does not look for in vain: a host and a port, or a target with a scheme. */
  private static final Pattern TARGET =
      Pattern.compile("(\\[[^\\]]+\\]|[^:/\\[\\]]+):(?<port>[0-9]+)|(unix:|dns:|[a-z][a-z0-9+.-]*:///).+");

  private final Outgoing outgoing = new Outgoing();
  private final Map<String, Turn> turns = new LinkedHashMap<>();
  private final Set<OpenMicrophone> microphones = new HashSet<>();
  private final SessionThread thread = new SessionThread(this::unexpected);
  private final Consumer<News> listener;
  private final Keeper keeper;

  /** Whether answers are to come as sound, too. */
  private final boolean aloud;

  private final CountDownLatch opened = new CountDownLatch(1);
  private final CountDownLatch ended = new CountDownLatch(1);
  private volatile ClientException failure;

  /** The last reported state of the device. */
  private DeviceState device = DeviceState.getDefaultInstance();

  /** Whether a target can be an address: a larger port than there are would be another one's, or fail in gRPC's own way. */
  private static boolean isAddress(String target) {
    Matcher matcher = TARGET.matcher(target);
    if (!matcher.matches()) {
      return false;
    }
    String port = matcher.group("port");
    return port == null || (port.length() <= 5 && Integer.parseInt(port) > 0 && Integer.parseInt(port) <= MOST_PORT);
  }

  private Session(String target, SessionOptions given, Consumer<News> listener) {
    if (!isAddress(target)) {
      String advice = "give HOST:PORT of the gRPC port, such as 127.0.0.1:50061; http://… is the page's address";
      throw new ClientException.InvalidRequest("target: \"" + target + "\" is no address; " + advice, Details.field("target"));
    }
    String file = given.authorized() ? null : System.getenv(SessionOptions.TOKEN_FILE);
    boolean named = file != null && !file.isEmpty();
    SessionOptions options = named ? withNamed(given, file) : given;
    if (options.exposes(target)) {
      String field = named ? SessionOptions.TOKEN_FILE : "token";
      String told = field + ": would go to " + target + " in clear; give credentials of TLS";
      throw new ClientException.InvalidRequest(told, Details.field(field));
    }
    this.listener = listener;
    aloud = options.output().getAloud();
    keeper = new Keeper(target, options, new Owner(), outgoing, thread);
  }

  /** Options with the token of the file that the environment names. Errors do not tell what the file has. */
  private static SessionOptions withNamed(SessionOptions options, String file) {
    String wrong;
    try {
      return options.withTokenFile(Path.of(file));
    } catch (IOException unread) {
      wrong = file + " cannot be read (" + unread.getClass().getSimpleName() + ")";
    } catch (IllegalArgumentException none) { // a path that is none, too
      wrong = file + " holds no token, which is one line of printable ASCII without spaces";
    }
    String told = SessionOptions.TOKEN_FILE + ": " + wrong;
    throw new ClientException.InvalidRequest(told, Details.field(SessionOptions.TOKEN_FILE));
  }

  /**
   * Open a session.
   *
   * @param target the server's "host:port"
   * @param options how it is kept
   * @param listener receives the events of the session and not of its turns, on the session's thread: it is to return soon,
   *     and not to wait there for anything of the session
   * @throws ClientException it cannot be opened; {@link ClientException.InvalidRequest} where the target is no address,
   *     a token would go there in clear, or the file that {@code QUIZGLASS_TOKEN_FILE} names has none
   */
  public static Session open(String target, SessionOptions options, Consumer<News> listener) {
    Session session = new Session(target, options, listener);
    session.thread.execute(session.keeper::connect);
    try {
      session.opened.await();
    } catch (InterruptedException interruption) {
      session.thread.execute(session.keeper::abandon);
      throw ClientException.Cancelled.waiting();
    }
    if (session.failure != null) throw session.failure;
    return session;
  }

  /** As {@link #open(String, SessionOptions, Consumer)}, with the usual options, for a program that wants no news. */
  public static Session open(String target) {
    return open(target, SessionOptions.DEFAULT, news -> {});
  }

  /**
   * Send a picture before there is a question about it. It arrives while the program goes on, between other messages, and is
   * looked at by the server meanwhile. Shown again, it costs nothing.
   *
   * @param picture JPEG, PNG or WebP; a side beyond {@code limits().getUsefulPictureSide()} brings nothing
   * @param pinned whether the server is to keep it until it is dropped, or shown again without this
   * @return its name for {@link #ask(String, ByteString)}: its SHA-256
   */
  public ByteString show(byte[] picture, boolean pinned) {
    ByteString data = ByteString.copyFrom(picture); // theirs may change while it is on its way
    ByteString sha256 = sha256(data);
    run(() -> outgoing.show(sha256, data, pinned));
    return sha256;
  }

  /** As {@link #show(byte[], boolean)}; the server lets it go when it has no room for newer ones. */
  public ByteString show(byte[] picture) {
    return show(picture, false);
  }

  /** Have a picture of that name let go. */
  public void drop(ByteString frame) {
    run(() -> outgoing.drop(frame));
  }

  /**
   * Tell how the device is; what is not set is as it was. What the session makes of it is reported to the listener, as {@link
   * News.Posture}: pictures should then be made as small as its limits say, and answers are shorter.
   *
   * @throws ClientException.InvalidRequest the battery is not between 0 and 100 percent
   */
  public void device(DeviceState state) {
    int battery = state.getBatteryPercent();
    if (battery < 0 || battery > 100) {
      String told = "battery_percent: " + battery + " is not between 0 and 100";
      throw new ClientException.InvalidRequest(told, Details.field("battery_percent"));
    }
    run(
        () -> {
          device = device.toBuilder().mergeFrom(state).build();
          outgoing.say(ClientMessage.newBuilder().setDeviceState(device).build());
        });
  }

  /** Have the session forget pictures and dialogue, and end what runs. The listener receives the receipt, {@link News.Forgot}. */
  public void forget() {
    run(() -> outgoing.say(ClientMessage.newBuilder().setForget(Forget.getDefaultInstance()).build()));
  }

  /**
   * What a later session can take the dialogue from ({@link SessionOptions#withState}), here or after the program was ended;
   * empty as long as there is none. Whoever has it can go on with the dialogue: keep it as a secret.
   */
  public ByteString state() {
    return keeper.state();
  }

  /**
   * Ask a question; its events come by the turn. What was said and heard in the session is known.
   *
   * @param request the question, and whatever else the protocol has for one; pictures are named by {@code sha256}
   * @param overlap what becomes of it while another question runs: that one ends, it waits, or it fails
   * @throws ClientException the session was given up, or the question is too long
   */
  public Turn ask(AskRequest request, SessionAsk.Overlap overlap) {
    Turn turn = newTurn();
    SessionAsk ask = SessionAsk.newBuilder().setId(turn.id()).setOverlap(overlap).setRequest(request).build();
    checkSize(ask.getSerializedSize());
    begin(turn, () -> outgoing.say(ClientMessage.newBuilder().setAsk(ask).build()));
    return turn;
  }

  /** Ask about a picture that was shown; a question that runs ends. */
  public Turn ask(String question, ByteString frame) {
    AskRequest.Builder request = AskRequest.newBuilder().setQuestion(question);
    request.addFrames(Frame.newBuilder().setSha256(frame));
    return ask(request.build(), SessionAsk.Overlap.OVERLAP_INTERRUPT);
  }

  /** Ask about what was said before, or about no picture; a question that runs ends. */
  public Turn ask(String question) {
    return ask(AskRequest.newBuilder().setQuestion(question).build(), SessionAsk.Overlap.OVERLAP_INTERRUPT);
  }

  /**
   * Ask a question that is spoken; {@link Turn#transcript} is what was heard. It returns at once: sound is added to what it
   * returns, as it is recorded, and the server listens meanwhile.
   *
   * @param start rate, channels, codec and whatever else the protocol has; its {@code id} is set here, and {@code request} has
   *     what goes with the question: frames, policy, budget. The default instance is 16-bit PCM, mono, 16,000 samples a second
   * @throws ClientException the session was given up; {@link ClientException.InvalidRequest} where the server hears nothing, or
   *     {@code request} is too long
   */
  public Spoken say(SpeechStart start) {
    checkHears();
    Turn turn = newTurn();
    SpeechStart named = start.toBuilder().setId(turn.id()).build();
    checkSize(named.getSerializedSize());
    SpeechUpload upload = new SpeechUpload(named, left -> {});
    begin(turn, () -> outgoing.speak(upload));
    return new Spoken(this, turn, upload);
  }

  /**
   * Ask whatever is spoken into a microphone that stays open, question after question, until it is closed. It returns at once: sound is
   * added to what it returns, as it is recorded, and iterating that gives the turns.
   *
   * @param start as for {@link #say}; the server ends each question by the silence after it. With {@code pauses}, the turn that is
   *     listened for has {@link TurnSaid.Listening} PAUSE as soon as the wearer may have begun to speak over an answer: pause that, and
   *     say so by what is playing. VOICE follows, or RESUME: play on
   * @throws ClientException the session was given up; {@link ClientException.InvalidRequest} where the server hears nothing, or
   *     {@code request} is too long
   */
  public OpenMicrophone listen(SpeechStart start) {
    checkHears();
    checkSize(start.getSerializedSize());
    OpenMicrophone microphone = new OpenMicrophone(this, start.toBuilder().setEndsBySilence(true).build());
    run(
        () -> {
          if (failure == null) {
            microphones.add(microphone);
            microphone.listen();
          } else {
            microphone.end();
          }
        });
    return microphone;
  }

  /**
   * The network may have changed: see at once whether the link is alive, and do not wait to make a new one. For a phone's
   * connectivity callback.
   */
  public void hintReconnect() {
    thread.execute(keeper::hint);
  }

  /** How many links there were so far. */
  public int links() {
    return keeper.links();
  }

  /** What the server has told of its limits. */
  public SessionLimits limits() {
    return keeper.limits();
  }

  /** End it; what runs is cancelled, and the server lets its pictures go. Waits until the server knows, for 2 s at most. */
  @Override
  public void close() {
    thread.execute(keeper::close);
    try {
      if (!ended.await(CLOSE_MS, TimeUnit.MILLISECONDS)) thread.execute(keeper::abandon);
    } catch (InterruptedException interruption) {
      thread.execute(keeper::abandon);
      Thread.currentThread().interrupt();
    }
  }

  private void checkHears() {
    if (limits().getMaxSpeechUs() > 0) return;
    String told = "the server hears nothing; ask in text, or have it started with a recogniser (docs/voice.md)";
    throw new ClientException.InvalidRequest(told, Details.field("start"));
  }

  /** See that a question fits a message: one that does not would break every link. */
  private static void checkSize(int bytes) {
    if (bytes <= MOST_ASK_BYTES) return;
    String told = "question: with what was said, it has more than " + MOST_ASK_BYTES + " bytes";
    throw new ClientException.InvalidRequest(told, Details.field("question"));
  }

  Turn newTurn() {
    return new Turn(UUID.randomUUID().toString(), this, aloud && limits().getSpeaks());
  }

  /** Follow a turn whose question is asked like this. */
  private void begin(Turn turn, Runnable asked) {
    run(
        () -> {
          if (failure != null) {
            turn.fail(failure);
            return;
          }
          follow(turn, asked);
        });
  }

  private void follow(Turn turn, Runnable asked) {
    turns.put(turn.id(), turn);
    asked.run();
    keeper.stir();
  }

  /** Begin the next question of an open microphone, on the session's thread. */
  void speak(Turn turn, SpeechUpload upload) {
    follow(turn, () -> outgoing.speak(upload));
  }

  /** An open microphone is done, on the session's thread. */
  void leave(OpenMicrophone microphone) {
    microphones.remove(microphone);
    microphone.end();
  }

  /** Something was recorded; a session that is over is not told. */
  void record(Runnable recorded) {
    execute(
        () -> {
          recorded.run();
          loseSpeeches();
        });
  }

  /** Spoken questions whose sound is needed again and not kept cannot be asked. */
  private void loseSpeeches() {
    for (String askId : outgoing.lostSpeeches()) {
      String told = "the sound of this question was lost with the link, and is not kept any more; say it again";
      Turn turn = turns.remove(askId);
      if (turn != null) turn.fail(new ClientException.SessionLost(told, Details.reason("SOUND_LOST")));
      outgoing.giveUp(askId);
    }
  }

  /** Have something done on the session's thread after so many milliseconds, unless the session is over by then. */
  void after(long ms, Runnable work) {
    thread.after(
        ms,
        () -> {
          if (failure != null) return;
          work.run();
          keeper.pump();
        });
  }

  void cancel(String askId) {
    CancelAsk cancel = CancelAsk.newBuilder().setAskId(askId).build();
    execute(
        () -> {
          if (turns.containsKey(askId)) outgoing.say(ClientMessage.newBuilder().setCancel(cancel).build());
        });
  }

  void played(String askId, int segment, int codePoint) {
    Playback playback = Playback.newBuilder().setAskId(askId).setSegment(segment).setCodePoint(codePoint).build();
    execute(() -> outgoing.say(ClientMessage.newBuilder().setPlayback(playback).build()));
  }

  /** Have something done on the session's thread, and what came of it sent. */
  private void run(Runnable work) {
    if (!execute(work)) throw failure;
  }

  /** As {@link #run}, for what is of no use to a session that is over; whether it was not. */
  private boolean execute(Runnable work) {
    return failure == null
        && thread.execute(
            () -> {
              work.run();
              keeper.pump();
            });
  }

  private void unexpected(Throwable error) {
    Details details = Details.reason("UNEXPECTED");
    ClientException told = new ClientException.ServerError(Status.Code.UNKNOWN, "the session failed: " + error, details);
    told.initCause(error);
    keeper.fail(told);
  }

  private static ByteString sha256(ByteString data) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      digest.update(data.asReadOnlyByteBuffer());
      return ByteString.copyFrom(digest.digest());
    } catch (NoSuchAlgorithmException impossible) {
      throw new IllegalStateException(impossible); // every Java has it
    }
  }

  /** What the keeper tells, on the session's thread. */
  private final class Owner implements Keeper.Owner {
    @Override
    public boolean busy() {
      return !turns.isEmpty();
    }

    @Override
    public void opened(Opened message, Duration after) {
      if (after != null) {
        boolean all = message.getRestored() == Opened.Restored.RESTORED_ALL;
        if (!all) lose(message.getRestoredReason());
        tell(new News.Restored(message.getRestored(), message.getRestoredReason(), after));
      }
      boolean resumed = message.getRestored() == Opened.Restored.RESTORED_ALL;
      outgoing.again(resumed, message.getLimits().getMaxSpeechUs() / 1e6);
      loseSpeeches();
      opened.countDown();
    }

    @Override
    public void lost(String reason) {
      tell(new News.Lost(reason));
    }

    @Override
    public void said(ServerMessage said) {
      switch (said.getMessageCase()) {
        case FRAME_STATUS -> {
          outgoing.status(said.getFrameStatus());
          tell(new News.Frame(said.getFrameStatus()));
        }
        case NEED_FRAME -> {
          said.getNeedFrame().getFramesList().forEach(outgoing::need);
          take(said.getNeedFrame().getAskId(), said);
        }
        case SPEECH_STATUS -> {
          if (outgoing.spoken(said.getSpeechStatus())) take(said.getSpeechStatus().getId(), said);
          loseSpeeches();
        }
        case TRANSCRIPT -> {
          take(said.getTranscript().getAskId(), said);
          if (said.getTranscript().getFinal()) outgoing.understood(said.getTranscript().getAskId());
        }
        case SPEECH -> take(said.getSpeech().getAskId(), said);
        case SPOKEN -> take(said.getSpoken().getAskId(), said);
        case TURN -> take(said.getTurn().getAskId(), said);
        case PROGRESS -> take(said.getProgress().getAskId(), said);
        case INTERRUPTED -> take(said.getInterrupted().getAskId(), said);
        case NOTICE -> notice(said.getNotice());
        case GO_AWAY -> tell(new News.Leaving(said.getGoAway()));
        case POSTURE -> tell(new News.Posture(said.getPosture()));
        case FORGOTTEN -> {
          outgoing.forgotten();
          tell(new News.Forgot(said.getForgotten()));
        }
        default -> {} // kinds that this client does not know are left alone
      }
    }

    @Override
    public void failed(ClientException error) {
      failure = error;
      turns.values().forEach(turn -> turn.fail(error));
      turns.clear();
      microphones.forEach(OpenMicrophone::end);
      microphones.clear();
      opened.countDown();
      ended.countDown();
      thread.end();
    }

    private void take(String askId, ServerMessage said) {
      Turn turn = turns.get(askId);
      if (turn == null) {
        if (said.hasInterrupted()) outgoing.over(askId); // it was given up
        return;
      }
      turn.take(said);
      forget(turn);
    }

    private void notice(Notice notice) {
      Turn turn = turns.get(notice.getAskId());
      if (turn != null && notice.getTurnOver()) {
        // A question of which nothing was done is asked again over the next link.
        if (notice.getReason().equals("STOPPING") && !turn.begun()) return;
        turn.fail(ClientException.of(notice));
        forget(turn);
      }
      tell(new News.Failed(notice));
    }

    /** Questions that were half answered cannot be taken up again in a new session. */
    private void lose(String reason) {
      String told = "the session could not be resumed: " + reason + "; ask again";
      for (Turn turn : List.copyOf(turns.values())) {
        if (turn.begun()) turn.fail(new ClientException.SessionLost(told, Details.reason(reason)));
        forget(turn);
      }
    }

    private void forget(Turn turn) {
      if (!turn.isOver()) return;
      turns.remove(turn.id());
      outgoing.over(turn.id());
    }

    /** What a listener raises is its program's affair, not the session's. */
    private void tell(News news) {
      try {
        listener.accept(news);
      } catch (RuntimeException error) {
        Thread own = Thread.currentThread();
        own.getUncaughtExceptionHandler().uncaughtException(own, error);
      }
    }
  }
}
