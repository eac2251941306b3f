package quizglass.client;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import quizglass.v1.Ack;
import quizglass.v1.AskRequest;
import quizglass.v1.CancelAsk;
import quizglass.v1.ClientMessage;
import quizglass.v1.DeviceState;
import quizglass.v1.Forget;
import quizglass.v1.Frame;
import quizglass.v1.FrameStatus;
import quizglass.v1.Playback;
import quizglass.v1.SessionAsk;

/** What is sent, in which order, and what is said again over a new link; without a server. */
class OutgoingTest {
  private static final ByteString NAME = ByteString.copyFrom(new byte[32]);

  private final Outgoing outgoing = new Outgoing();

  @Test
  void overANewLinkWhatMayNotHaveArrivedIsSaidAgainWhatWasHeardBeforeQuestions() {
    outgoing.show(NAME, ByteString.copyFrom(new byte[50_000]), false);
    AskRequest request = AskRequest.newBuilder().addFrames(Frame.newBuilder().setSha256(NAME)).build();
    outgoing.say(ClientMessage.newBuilder().setAsk(SessionAsk.newBuilder().setId("one").setRequest(request)).build());
    outgoing.say(ClientMessage.newBuilder().setPlayback(Playback.newBuilder().setAskId("zero")).build());
    outgoing.say(cancel());
    outgoing.say(ClientMessage.newBuilder().setAck(Ack.newBuilder().setSeq(3)).build());
    assertEquals(List.of("FRAME_BEGIN", "ASK", "PLAYBACK", "CANCEL", "ACK"), kinds());
    outgoing.again(true, 30);
    assertEquals(List.of("FRAME_BEGIN", "PLAYBACK", "ASK", "CANCEL"), kinds());
    outgoing.status(status(FrameStatus.State.STATE_SEND, 49_000));
    assertEquals(List.of("FRAME_PART", "PING"), kinds());
    outgoing.status(status(FrameStatus.State.STATE_HELD, 0));
    outgoing.over("one");
    outgoing.again(false, 30);
    outgoing.again(true, 30); // of the new session, whose questions are others
    assertEquals(List.of(), kinds());
  }

  @Test
  void aPictureGoesInPiecesBetweenWhichOtherMessagesPass() {
    outgoing.show(NAME, ByteString.copyFrom(new byte[100_000]), false);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.status(status(FrameStatus.State.STATE_SEND, 0));
    assertEquals(ClientMessage.MessageCase.FRAME_PART, outgoing.next(0).getMessageCase());
    outgoing.say(cancel());
    assertEquals(List.of("PING", "CANCEL", "FRAME_PART", "PING"), kinds(), "until the window is full");
  }

  @Test
  void aPictureThatWasShownIsNotSentAgain() {
    outgoing.show(NAME, ByteString.copyFrom(new byte[10]), false);
    outgoing.show(NAME, ByteString.copyFrom(new byte[10]), false);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.show(NAME, ByteString.copyFrom(new byte[10]), true);
    assertEquals(List.of("FRAME_BEGIN"), kinds(), "it is pinned now");
    outgoing.drop(NAME);
    assertEquals(List.of("FRAME_DROP"), kinds());
  }

  @Test
  void aPictureIsAnnouncedAgainToAServerThatHasNotBeenToldOfItOrHasLetItGo() {
    ByteString data = ByteString.copyFrom(new byte[10]);
    outgoing.show(NAME, data, false);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.status(status(FrameStatus.State.STATE_DROPPED, 0));
    outgoing.show(NAME, data, false);
    outgoing.show(NAME, data, false);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.again(false, 30);
    outgoing.show(NAME, data, false);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.status(status(FrameStatus.State.STATE_DROPPED, 0));
    outgoing.again(true, 30);
    assertEquals(List.of(), kinds(), "no question about it is left");
  }

  @Test
  void aPictureIsDroppedOverANewLinkUntilTheServerSaysSoOrItIsShownAgain() {
    outgoing.drop(NAME);
    outgoing.again(true, 30);
    assertEquals(List.of("FRAME_DROP"), kinds());
    outgoing.show(NAME, ByteString.copyFrom(new byte[10]), false);
    outgoing.again(true, 30);
    assertEquals(List.of("FRAME_BEGIN"), kinds());
    outgoing.drop(NAME);
    outgoing.status(status(FrameStatus.State.STATE_DROPPED, 0));
    outgoing.again(true, 30);
    assertEquals(List.of(), kinds());
  }

  @Test
  void howTheDeviceIsAndWhatIsToBeForgottenIsSaidAgainInTheOrderOfQuestions() {
    outgoing.show(NAME, ByteString.copyFrom(new byte[10]), true);
    outgoing.say(ClientMessage.newBuilder().setDeviceState(DeviceState.newBuilder().setBatteryPercent(9)).build());
    outgoing.say(ClientMessage.newBuilder().setAsk(SessionAsk.newBuilder().setId("one")).build());
    outgoing.say(ClientMessage.newBuilder().setForget(Forget.getDefaultInstance()).build());
    outgoing.say(ClientMessage.newBuilder().setAsk(SessionAsk.newBuilder().setId("two")).build());
    outgoing.again(true, 30);
    assertEquals(List.of("DEVICE_STATE", "ASK", "FORGET", "ASK"), kinds(), "pictures are forgotten here at once");
    outgoing.forgotten();
    outgoing.over("one");
    outgoing.again(false, 30);
    assertEquals(List.of("DEVICE_STATE", "ASK"), kinds());
  }

  @Test
  void piecesCarryTheChecksumOfRfc3720() {
    outgoing.show(NAME, ByteString.copyFrom("123456789", StandardCharsets.US_ASCII), false);
    kinds();
    outgoing.status(status(FrameStatus.State.STATE_SEND, 0));
    assertEquals(0xe3069283, outgoing.next(0).getFramePart().getCrc32C());
  }

  @Test
  void asMuchIsOnItsWayAsAFastLinkCarriesAndLittleOnASlowOne() {
    Window fast = carried(5);
    Window slow = carried(900);
    assertEquals(List.of(1024 * 1024, 32 * 1024), List.of(fast.room(), fast.piece()));
    assertEquals(List.of(8 * 1024, 4 * 1024), List.of(slow.room(), slow.piece()));
    fast.sent(1000, 0);
    assertEquals(1024 * 1024 - 1000, fast.room());
    fast.answered(ByteString.copyFromUtf8("not ours"), 0);
    fast.answered(ByteString.EMPTY, 0);
    assertNull(outgoing.next(0));
  }

  /** A window whose pieces are answered so many milliseconds late, all at once; the first ones after 5. */
  private static Window carried(long late) {
    Window window = new Window();
    for (int at = 0; at < 40; at++) {
      ByteString payload = window.sent(window.piece(), at * 1000L);
      while (window.room() >= window.piece()) payload = window.sent(window.piece(), at * 1000L);
      window.answered(payload, at * 1000L + (at > 0 ? late : 5));
    }
    return window;
  }

  /** Kinds of all that is to be sent now. */
  private List<String> kinds() {
    List<String> kinds = new ArrayList<>();
    for (ClientMessage said = outgoing.next(0); said != null; said = outgoing.next(0)) kinds.add(said.getMessageCase().name());
    return kinds;
  }

  private static FrameStatus status(FrameStatus.State state, long offset) {
    return FrameStatus.newBuilder().setSha256(NAME).setState(state).setOffset(offset).build();
  }

  private static ClientMessage cancel() {
    return ClientMessage.newBuilder().setCancel(CancelAsk.newBuilder().setAskId("one")).build();
  }
}
