/**
 * A wearable's session with a quizglass server, over gRPC.
 *
 * <p>{@link quizglass.client.Session} is the beginning. What goes over the wire is in docs/session.md; its messages are the
 * classes of {@code quizglass.v1}, which are generated from the protocol.
 */
package quizglass.client;
