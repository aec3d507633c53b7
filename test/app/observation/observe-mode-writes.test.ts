import { expect, test } from "bun:test";
import { fake } from "../../../providers/fake/index.ts";
import type { CloudTransport } from "../../../src/provider/call.ts";
import { ServiceWorld } from "../../support/service-world.ts";

test("observe mode blocks a change that a provider makes while reading", async () => {
  let transport: CloudTransport | undefined;
  const provider: typeof fake = {
    ...fake,
    connect: (settings, context) => {
      const account = { name: "own", fetch: async () => ({ value: "" }), sign: (each: never) => each };
      ({ transport } = context.account(account as never));
      return fake.connect(settings, context);
    },
  };
  const w = new ServiceWorld({ provider });
  await w.start("--mode=observe");
  const request = {
    method: "POST",
    url: "http://cloud.test/v1/balancers",
    operation: "POST /balancers",
    mutates: true,
  } as const;
  const call = { signal: new AbortController().signal, urgency: "refresh" } as const;
  const sent = transport?.(request, call, async ({ status }) => status).catch(
    (error: Error) => error.message,
  );
  await w.pass(5);
  expect(await sent).toBe("POST /balancers was not sent: --mode=observe changes nothing.");
  expect(w.changes).toEqual([]);
  await w.stop();
});
