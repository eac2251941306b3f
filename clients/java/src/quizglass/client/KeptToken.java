package quizglass.client;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** The token of a file, which another one may take the place of. For one thread. */
final class KeptToken {
  private final Path file;
  private String token = "";

  KeptToken(Path file) {
    this.file = file;
  }

  /** What the file has now; while that is no token, as in the middle of being written, the one before. Empty: there was none. */
  String current() {
    try {
      token = read(file);
    } catch (IOException | IllegalArgumentException none) {
      return token; // as it was
    }
    return token;
  }

  /**
   * The token in a file. Errors do not tell what the file has.
   *
   * @throws IOException it cannot be read
   * @throws IllegalArgumentException it has none
   */
  static String read(Path file) throws IOException {
    return checked(Files.readString(file, StandardCharsets.ISO_8859_1).strip());
  }

  /** A token that can be sent. Raises {@link IllegalArgumentException} where it is none. */
  static String checked(String token) {
    if (token.isEmpty() || !token.chars().allMatch(each -> '!' <= each && each <= '~')) {
      throw new IllegalArgumentException("token: is no token, which is printable ASCII without spaces");
    }
    return token;
  }
}
