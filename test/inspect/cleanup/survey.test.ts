// The cloud objects that `cleanup` lists.

import { expect, test } from "bun:test";
import { listCloud } from "../../../src/inspect/cleanup/survey.ts";
import { failureOf } from "../../../src/testing/conformance/lab.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

test("an interrupted listing ends with the reason, and leaves no unhandled rejection", async () => {
  const controller = new AbortController();
  // biome-ignore lint/correctness/useYield: the listing hangs before its first page.
  async function* list(): AsyncGenerator<never> {
    await Promise.resolve();
    controller.abort(new Error("received SIGINT"));
    throw controller.signal.reason;
  }
  const cloud = { loadBalancers: { list }, routes: { list } };
  const call = { signal: controller.signal, urgency: "refresh" } as const;
  const listed = listCloud(cloud as never, new VirtualClock(), call);
  expect(await failureOf(listed)).toBe(controller.signal.reason);
});
