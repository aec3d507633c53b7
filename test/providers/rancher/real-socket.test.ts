// The event socket over real HTTP on the loopback interface, with the real clock and transport.

import { expect, test } from "bun:test";
import { rancher } from "../../../providers/rancher/index.ts";
import { config, keys } from "../../../providers/rancher/simulator/harness.ts";
import { RancherCloud, serveRancherCloud } from "../../../providers/rancher/simulator/index.ts";
import { connectCloud } from "../../../src/app/connect-cloud.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { systemRandom } from "../../../src/platform/random.ts";
import { systemSocket } from "../../../src/platform/socket.ts";
import { systemTransport } from "../../../src/platform/transport.ts";
import type { ChangeHint } from "../../../src/provider/changes.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";

test("reports a purged host, and rejections with their status", async () => {
  const cloud = new RancherCloud({ clock: systemClock });
  const { hosts } = cloud.environment;
  const { uuid } = hosts.add("node-1");
  cloud.addKey(keys.access, keys.secret);
  await using served = serveRancherCloud(cloud, 0);
  const life = new AbortController();
  const reported: string[] = [];
  const { connected } = connectCloud(
    rancher as AnyProvider,
    {
      environment: {},
      cluster: "test",
      given: new Map(Object.entries({ ...config, url: `${served.url}/v2-beta` })),
    },
    {
      transport: systemTransport,
      openSocket: systemSocket,
      clock: systemClock,
      random: systemRandom,
      signal: life.signal,
      mayMutate: () => true,
      report: ({ operation, status, failure }) => reported.push(`${operation} ${failure ?? status}`),
    },
  );
  const { changes } = connected?.cloud ?? {};
  if (changes === undefined) throw new Error("The provider has no changes.");
  const call = { signal: life.signal, urgency: "refresh" } as const;
  const hints: ChangeHint[] = [];
  let isOpen = false;
  for await (const list of changes.follow(call)) {
    hints.push(...list);
    if (hints.length > 0) break;
    if (!isOpen) hosts.purge("node-1", systemClock.now());
    isOpen = true;
  }
  expect(hints[0]).toMatchObject({ of: "instance", source: "hosts", key: uuid });
  expect(reported).toContain("GET /subscribe 101");
  cloud.revokeKeys();
  const refused = changes.follow(call)[Symbol.asyncIterator]().next();
  await expect(refused).rejects.toThrow("GET /subscribe failed: The server refused the WebSocket (401).");
  cloud.events.refusesWith = 503;
  cloud.addKey(keys.access, keys.secret);
  await expect(changes.follow(call)[Symbol.asyncIterator]().next()).rejects.toThrow("(503)");
  life.abort();
  while (cloud.events.open > 0) await new Promise((resolve) => setImmediate(resolve));
});
