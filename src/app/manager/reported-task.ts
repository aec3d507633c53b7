// A task that says when it runs: what the metric of running controllers is made from.

import type { Task } from "../../runtime/run-together.ts";

export function reported(task: Task, runs: (name: string, isRunning: boolean) => void): Task {
  return {
    name: task.name,
    run: async (stop) => {
      runs(task.name, true);
      try {
        await task.run(stop);
      } finally {
        runs(task.name, false);
      }
    },
  };
}
