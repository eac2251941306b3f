package quizglass.client;

import com.google.common.hash.Hashing;
import com.google.protobuf.ByteString;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import quizglass.v1.CancelAsk;
import quizglass.v1.ClientMessage;
import quizglass.v1.FrameBegin;
import quizglass.v1.FrameDrop;
import quizglass.v1.FrameNeed;
import quizglass.v1.FramePart;
import quizglass.v1.FrameStatus;
import quizglass.v1.Ping;
import quizglass.v1.SpeechStart;
import quizglass.v1.SpeechStatus;

/**
 * What a session has to say over its link: messages first, then sound, and between them pieces of pictures. Knows what has to be said again
 * over a new link. Knows no gRPC. For one thread.
 */
final class Outgoing {
  /** Bytes of pictures that are kept to be sent again; the oldest go. */
  private static final long MOST_BYTES = 64L * 1024 * 1024;

  private static final int NOTHING = -1;

  /** In place of a question's name. */
  private static final String FORGET = "";

  /** A picture that is sent, or can be sent again. */
  private static final class Upload {
    private FrameBegin begin;
    private final ByteString data;

    /** First byte to be sent; NOTHING: the server has not said, or has it. */
    private int offset = NOTHING;

    private boolean held;

    /** Whether the server of now has been told of it, and has not let it go. */
    private boolean announced;

    private Upload(FrameBegin begin, ByteString data) {
      this.begin = begin;
      this.data = data;
    }
  }

  private final Deque<ClientMessage> waiting = new ArrayDeque<>();
  private final Map<ByteString, Upload> uploads = new LinkedHashMap<>();

  /** In the order in which they were said: what is asked before something is forgotten goes with it. */
  private final Map<String, ClientMessage> asks = new LinkedHashMap<>();

  private final Map<String, SpeechUpload> speeches = new LinkedHashMap<>();
  private final Map<String, ClientMessage> cancels = new LinkedHashMap<>();
  private final Map<ByteString, ClientMessage> drops = new LinkedHashMap<>();
  private ClientMessage played;
  private ClientMessage device;
  private Window window = new Window();

  /** Send a message, and again over a new link until it is acknowledged. */
  void say(ClientMessage said) {
    switch (said.getMessageCase()) {
      case ASK -> asks.put(said.getAsk().getId(), said);
      case CANCEL -> cancels.put(said.getCancel().getAskId(), said);
      case FRAME_DROP -> drops.put(said.getFrameDrop().getSha256(), said);
      case PLAYBACK -> played = said;
      case DEVICE_STATE -> device = said;
      case FORGET -> {
        uploads.clear();
        played = null;
        forgotten();
        asks.put(FORGET, said);
        speeches.values().forEach(SpeechUpload::forget);
      }
      default -> {} // said once
    }
    waiting.add(said);
  }

  /** Send a picture, unless the server has been told of it and has not let it go. */
  void show(ByteString sha256, ByteString data, boolean pinned) {
    drops.remove(sha256);
    FrameBegin begin = FrameBegin.newBuilder().setSha256(sha256).setSize(data.size()).setPinned(pinned).build();
    Upload upload = uploads.computeIfAbsent(sha256, absent -> new Upload(null, data));
    if (upload.announced && begin.equals(upload.begin)) return;
    upload.begin = begin;
    upload.announced = true;
    forgetOldest();
    say(announcement(upload));
  }

  /** Give a picture up. */
  void drop(ByteString sha256) {
    uploads.remove(sha256);
    say(ClientMessage.newBuilder().setFrameDrop(FrameDrop.newBuilder().setSha256(sha256)).build());
  }

  /** Begin a spoken question. */
  void speak(SpeechUpload speech) {
    speech.announced = speeches.values().stream().noneMatch(each -> each.repeating);
    speeches.put(speech.start().getId(), speech);
    if (speech.announced) waiting.add(announcement(speech.start()));
  }

  /** What the server has of a spoken question; whether that was not known from an earlier session. */
  boolean spoken(SpeechStatus status) {
    SpeechUpload speech = speeches.get(status.getId());
    return speech == null || speech.status(status);
  }

  /** A spoken question is understood: its sound is not needed any more. */
  void understood(String askId) {
    SpeechUpload speech = speeches.remove(askId);
    if (speech != null) speech.end();
  }

  /** Send no more of a spoken question. The session that waits for the rest of it takes no other one until then. */
  void giveUp(String askId) {
    boolean announced = speeches.containsKey(askId) && speeches.get(askId).announced;
    over(askId);
    if (announced) say(ClientMessage.newBuilder().setCancel(CancelAsk.newBuilder().setAskId(askId)).build());
  }

  /** Names of spoken questions whose sound is needed and not kept any more. */
  List<String> lostSpeeches() {
    return speeches.values().stream().filter(speech -> speech.lost).map(speech -> speech.start().getId()).toList();
  }

  /** What the server has of a picture. */
  void status(FrameStatus status) {
    if (status.getState() == FrameStatus.State.STATE_DROPPED) drops.remove(status.getSha256());
    Upload upload = uploads.get(status.getSha256());
    if (upload == null) return;
    upload.held = status.getState() == FrameStatus.State.STATE_HELD;
    upload.announced = status.getState() != FrameStatus.State.STATE_DROPPED;
    upload.offset = status.getState() == FrameStatus.State.STATE_SEND ? (int) status.getOffset() : NOTHING;
  }

  /** A question waits for a picture, and no longer where there is none to be sent. */
  void need(FrameNeed need) {
    Upload upload = uploads.get(need.getSha256());
    if (upload == null && !need.hasRegion()) drop(need.getSha256());
    if (upload == null || need.hasRegion() || upload.offset != NOTHING) return;
    upload.held = false;
    upload.announced = true;
    say(announcement(upload));
  }

  /** Nothing more comes of a question. */
  void over(String askId) {
    asks.remove(askId);
    understood(askId);
    cancels.remove(askId);
  }

  /** The server has forgotten. */
  void forgotten() {
    asks.remove(FORGET);
  }

  /**
   * There is a new link: what may not have arrived over the old one is said again.
   *
   * @param resumed whether the session is the same. Of another one, pictures come when they are needed
   * @param longestS seconds of a spoken question that it takes
   */
  void again(boolean resumed, double longestS) {
    window = new Window();
    waiting.clear();
    if (!resumed) {
      drops.clear();
      played = null; // of a question that this session does not know
    }
    Set<ByteString> wanted = new HashSet<>();
    for (ClientMessage ask : asks.values()) {
      ask.getAsk().getRequest().getFramesList().forEach(frame -> wanted.add(frame.getSha256()));
    }
    for (SpeechUpload speech : speeches.values()) {
      speech.start().getRequest().getFramesList().forEach(frame -> wanted.add(frame.getSha256()));
    }
    for (Upload upload : uploads.values()) {
      upload.offset = NOTHING;
      upload.held &= resumed;
      boolean kept = resumed ? upload.announced : upload.begin.getPinned();
      upload.announced = kept || wanted.contains(upload.begin.getSha256());
      if (!upload.held && upload.announced) waiting.add(announcement(upload));
    }
    if (device != null) waiting.add(device);
    // A later question is understood after what was heard, so that is said first.
    if (played != null) waiting.add(played);
    Map<String, ClientMessage> givenUp = new LinkedHashMap<>(cancels);
    givenUp.keySet().removeIf(askId -> asks.containsKey(askId) || speeches.containsKey(askId));
    if (!resumed) cancels.keySet().removeAll(givenUp.keySet()); // this session does not know them
    else waiting.addAll(givenUp.values()); // before others are listened to
    waiting.addAll(asks.values());
    for (SpeechUpload speech : speeches.values()) {
      speech.again(resumed, longestS);
      // Another session takes one speech after the other, so that they are announced as they are sent.
      if (speech.announced && (speech.repeating || !speech.over)) waiting.add(announcement(speech.start()));
    }
    for (Map.Entry<String, ClientMessage> cancel : cancels.entrySet()) {
      if (!givenUp.containsKey(cancel.getKey())) waiting.add(cancel.getValue());
    }
    waiting.addAll(drops.values());
  }

  /** The link has carried all that was sent before this ping; {@code now} in milliseconds. */
  void pong(ByteString payload, long now) {
    window.answered(payload, now);
  }

  /** The next message to be sent, at a time in milliseconds; null when there is none, or no room for it. */
  ClientMessage next(long now) {
    if (!waiting.isEmpty()) return waiting.remove();
    ClientMessage said = sound(); // before pictures: the wearer waits for its end
    return said == null ? part(now) : said;
  }

  /** The next piece of speech. */
  private ClientMessage sound() {
    for (SpeechUpload speech : speeches.values()) {
      if (!speech.announced) {
        speech.announced = true;
        ClientMessage cancel = cancels.get(speech.start().getId());
        if (cancel != null) waiting.add(cancel); // the session did not know it when that was said
        return announcement(speech.start());
      }
      ClientMessage said = speech.next();
      if (said != null || speech.repeating) return said; // a session listens to one at a time
    }
    return null;
  }

  /** The next piece of the picture that was shown last and is not whole, if the link has room for it. */
  private ClientMessage part(long now) {
    Upload upload = null;
    for (Upload each : uploads.values()) if (each.offset != NOTHING && each.offset < each.data.size()) upload = each;
    if (upload == null) return null;
    int offset = upload.offset;
    int size = Math.min(window.piece(), upload.data.size() - offset);
    if (window.room() < size) return null;
    ByteString data = upload.data.substring(offset, offset + size);
    upload.offset += size;
    FramePart.Builder part = FramePart.newBuilder().setSha256(upload.begin.getSha256()).setOffset(offset).setData(data);
    part.setCrc32C(Hashing.crc32c().newHasher().putBytes(data.asReadOnlyByteBuffer()).hash().asInt());
    waiting.add(ClientMessage.newBuilder().setPing(Ping.newBuilder().setPayload(window.sent(size, now))).build());
    return ClientMessage.newBuilder().setFramePart(part).build();
  }

  private void forgetOldest() {
    long bytes = uploads.values().stream().mapToLong(upload -> upload.data.size()).sum();
    Iterator<Upload> oldest = uploads.values().iterator();
    while (bytes > MOST_BYTES && uploads.size() > 1) {
      bytes -= oldest.next().data.size();
      oldest.remove();
    }
  }

  private static ClientMessage announcement(Upload upload) {
    return ClientMessage.newBuilder().setFrameBegin(upload.begin).build();
  }

  private static ClientMessage announcement(SpeechStart start) {
    return ClientMessage.newBuilder().setSpeechStart(start).build();
  }
}
