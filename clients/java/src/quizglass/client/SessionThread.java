package quizglass.client;

import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** The thread on which a session lives: what it does, it does there, one thing after the other. */
final class SessionThread {
  private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1, SessionThread::daemon);
  private final Consumer<Throwable> failed;

  /** {@code failed} receives, on the thread, what its work has raised. */
  SessionThread(Consumer<Throwable> failed) {
    this.failed = failed;
    executor.setRemoveOnCancelPolicy(true);
    executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Do some work after all that was given before; false when the thread takes no more. */
  boolean execute(Runnable work) {
    return after(0, work) != null;
  }

  /** Do some work after so many milliseconds, unless it is cancelled; null when it takes no more. */
  Future<?> after(long ms, Runnable work) {
    try {
      return executor.schedule(() -> guarded(work), ms, TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException ended) {
      return null;
    }
  }

  /** Take no more work; what was taken is still done, but for what is not due yet. */
  void end() {
    executor.shutdown();
  }

  private void guarded(Runnable work) {
    try {
      work.run();
    } catch (Throwable error) {
      failed.accept(error);
    }
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "quizglass session");
    thread.setDaemon(true);
    return thread;
  }
}
