// Whether a name is taken: one listing for all Services that ask at the same time.

import { expect, test } from "bun:test";
import type { Call } from "#ccm";
import type { RancherApi } from "../../../providers/rancher/api.ts";
import { takenNames } from "../../../providers/rancher/apply.ts";

const own = { type: "loadBalancerService", name: "Node-0", stackId: "1st1" };

/** Lists when `answer` is called, and counts the listings. */
function listing() {
  const answered = Promise.withResolvers<void>();
  const counts = { listings: 0 };
  const api = {
    list: async function* (_type: string, { signal }: Call) {
      counts.listings += 1;
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.reject(signal.reason));
      await Promise.race([answered.promise, aborted.promise]);
      yield [own];
    },
  } as unknown as RancherApi;
  return { isTaken: takenNames(api), counts, answer: answered.resolve };
}

const call = (signal = new AbortController().signal): Call => ({ signal, urgency: "user-change" });

test("lists once for two Services, also when the first of them is cancelled", async () => {
  const { isTaken, counts, answer } = listing();
  const first = new AbortController();
  const one = isTaken("node-0", "1st1", call(first.signal));
  const other = isTaken("NODE-0", "1st1", call());
  first.abort(new Error("stopped"));
  await expect(one).rejects.toThrow("stopped");
  answer();
  expect(await other).toBe(true);
  expect(counts.listings).toBe(1);
});

test("lists again for a Service that asks later", async () => {
  const { isTaken, counts, answer } = listing();
  answer();
  expect(await isTaken("node-0", "1st1", call())).toBe(true);
  expect(await isTaken("node-0", "1st2", call())).toBe(false);
  expect(await isTaken("node-0", "1st1", call())).toBe(true);
  expect(counts.listings).toBe(3);
});
