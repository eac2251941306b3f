package quizglass.client;

import java.util.List;
import quizglass.v1.AskResponse;
import quizglass.v1.Done;

/**
 * A turn that is over.
 *
 * @param text what was answered
 * @param done how it ended, with citations, times and what was left out
 * @param events all of its events, in order
 */
public record Answer(String text, Done done, List<AskResponse> events) {}
