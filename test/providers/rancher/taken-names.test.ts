// The check whether a service of another kind has a name: concurrent checks share one listing.

import { expect, test } from "bun:test";
import type { Call } from "#ccm";
import type { RancherApi } from "../../../providers/rancher/api.ts";
import { takenNames } from "../../../providers/rancher/apply.ts";

const balancer = { type: "loadBalancerService", name: "Node-0", stackId: "1st1" };

/** An API whose listings wait for `answer`, with their number. */
function listing() {
  const answered = Promise.withResolvers<void>();
  const counts = { listings: 0 };
  const api = {
    list: async function* (_type: string, { signal }: Call) {
      counts.listings += 1;
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener("abort", () => aborted.reject(signal.reason));
      await Promise.race([answered.promise, aborted.promise]);
      yield [balancer];
    },
  } as unknown as RancherApi;
  return { isTakenByOtherKind: takenNames(api), counts, answer: answered.resolve };
}

const call = (signal = new AbortController().signal): Call => ({ signal, urgency: "user-change" });

test("two concurrent checks of a name share a listing, even when the first is cancelled", async () => {
  const { isTakenByOtherKind, counts, answer } = listing();
  const first = new AbortController();
  const one = isTakenByOtherKind("node-0", "1st1", call(first.signal));
  const other = isTakenByOtherKind("NODE-0", "1st1", call());
  first.abort(new Error("stopped"));
  await expect(one).rejects.toThrow("stopped");
  answer();
  expect(await other).toBe(true);
  expect(counts.listings).toBe(1);
});

test("a later check of a name lists again", async () => {
  const { isTakenByOtherKind, counts, answer } = listing();
  answer();
  expect(await isTakenByOtherKind("node-0", "1st1", call())).toBe(true);
  expect(await isTakenByOtherKind("node-0", "1st2", call())).toBe(false);
  expect(await isTakenByOtherKind("node-0", "1st1", call())).toBe(true);
  expect(counts.listings).toBe(3);
});
