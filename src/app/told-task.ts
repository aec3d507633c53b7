// Small views on what runs: a task that says when it runs, and a cache in a few words.

import type { Reflector } from "../kube/reflector.ts";
import type { Task } from "../runtime/scope.ts";

export const told = (task: Task, runs: (name: string, isRunning: boolean) => void): Task => ({
  name: task.name,
  run: async (stop) => {
    runs(task.name, true);
    try {
      await task.run(stop);
    } finally {
      runs(task.name, false);
    }
  },
});

export const cacheOf = <T>({ store, age, problem }: Reflector<T>) => ({
  isSynced: store.synced,
  objects: store.size,
  heardSecondsAgo: Math.round((age() ?? 0) / 1000),
  problem: problem?.message,
});
