// Long-lived tasks with one end: a scope starts them, aborts them together and waits until the last one is gone.

import { messageOf } from "../core/message-of.ts";
import { linkedController } from "./abortable.ts";

export interface Task {
  readonly name: string;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

/**
 * Runs the tasks until all have ended. The first one that fails, or a given signal, aborts the others; its error is
 * thrown once all have come to rest. A task that ends without an error leaves the others alone.
 */
export async function runTogether(tasks: readonly Task[], signal: AbortSignal): Promise<void> {
  const { controller, unlink } = linkedController(signal);
  let failure: { readonly error: unknown } | undefined;
  const runOne = async (task: Task): Promise<void> => {
    try {
      await task.run(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) return;
      failure = { error: new Error(`${task.name} ended: ${messageOf(error)}`, { cause: error }) };
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
