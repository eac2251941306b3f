package quizglass.client;

import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import quizglass.v1.ClientMessage;
import quizglass.v1.ServerMessage;
import quizglass.v1.SessionServiceGrpc;

/**
 * One link of a session: a connection of its own, and the stream over it. A broken one is never used again, since it may wait
 * for a network without an answer.
 */
final class Link implements StreamObserver<ServerMessage> {
  private static final int MOST_RECEIVED_BYTES = 32 * 1024 * 1024;

  /** Receives, on the session's thread, what comes over a link. */
  interface Receiver {
    /** The server says something. */
    void received(Link link, ServerMessage message);

    /** Nothing more comes; {@code error} is null when the server has ended it in order. */
    void ended(Link link, ClientException error);
  }

  private final ManagedChannel channel;
  private final StreamObserver<ClientMessage> up;
  private final SessionThread thread;
  private final Receiver receiver;

  /** Connect, and say the first message when there is a connection. */
  Link(
      String target,
      SessionOptions options,
      Map<String, String> metadata,
      ClientMessage first,
      SessionThread thread,
      Receiver receiver) {
    this.thread = thread;
    this.receiver = receiver;
    ManagedChannelBuilder<?> builder = Grpc.newChannelBuilder(target, options.credentials()).disableRetry();
    builder.directExecutor().maxInboundMessageSize(MOST_RECEIVED_BYTES);
    builder.intercept(MetadataUtils.newAttachHeadersInterceptor(headers(metadata)));
    Duration keepalive = options.keepalive();
    if (!keepalive.isZero()) builder.keepAliveTime(keepalive.toMillis(), TimeUnit.MILLISECONDS);
    channel = builder.build();
    up = SessionServiceGrpc.newStub(channel).converse(this);
    up.onNext(first);
  }

  private static Metadata headers(Map<String, String> metadata) {
    Metadata headers = new Metadata();
    metadata.forEach((name, value) -> headers.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value));
    return headers;
  }

  /** Send a message after those before; one to a link that has ended is lost. */
  void send(ClientMessage message) {
    up.onNext(message);
  }

  /** End it, whatever state it is in; does not block. */
  void close() {
    channel.shutdownNow();
  }

  @Override
  public void onNext(ServerMessage message) {
    thread.execute(() -> receiver.received(this, message));
  }

  @Override
  public void onError(Throwable error) {
    thread.execute(() -> receiver.ended(this, ClientException.of(error)));
  }

  @Override
  public void onCompleted() {
    thread.execute(() -> receiver.ended(this, null));
  }
}
