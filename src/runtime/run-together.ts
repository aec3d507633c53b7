// Runs long-lived tasks together: when one fails, all are aborted, and it waits until the last one has ended.

import { messageOf } from "../core/error-message.ts";
import { linkedController } from "./abortable.ts";

export interface Task {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/**
 * Runs the tasks until all have ended. A failure or the signal aborts the other tasks; the first error is thrown after all have
 * ended. A task that ends without an error does not affect the others.
 */
export async function runTogether(tasks: readonly Task[], signal: AbortSignal): Promise<void> {
  const { controller, unlink } = linkedController(signal);
  let failure: { readonly error: unknown } | undefined;
  const runOne = async (task: Task): Promise<void> => {
    try {
      await task.run(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      failure = { error: new Error(`${task.name} failed: ${messageOf(error)}`, { cause: error }) };
      controller.abort(failure.error);
    }
  };
  try {
    await Promise.all(tasks.map(runOne));
  } finally {
    unlink();
  }
  if (failure !== undefined) throw failure.error;
}
