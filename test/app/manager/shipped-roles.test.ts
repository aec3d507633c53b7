// Whole managers with cloud credentials, leader election, and exactly the permissions of deploy/rbac.yaml.

import { afterEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { parseAllDocuments } from "yaml";
import { asTransport as cloudTransport } from "#ccm/testing";
import { fake } from "../../../providers/fake/index.ts";
import { FakeCloud } from "../../../providers/fake/simulator/fake-cloud.ts";
import { readFlags } from "../../../src/app/flags/read-flags.ts";
import { createManager } from "../../../src/app/manager/manager.ts";
import { milliseconds, seconds } from "../../../src/core/brand.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { AnyProvider } from "../../../src/provider/provider.ts";
import { Draining } from "../../../src/runtime/draining.ts";
import { createLog } from "../../../src/telemetry/log.ts";
import { ApiServer } from "../../../src/testing/apiserver/api-server.ts";
import { asTransport } from "../../../src/testing/apiserver/as-transport.ts";
import type { AccessRequest } from "../../../src/testing/apiserver/http/serve-reviews.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { MemoryFiles } from "../../../src/testing/virtual-time/memory-files.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { toNode } from "../../support/api-server-nodes.ts";
import { uninitialized } from "../../support/node-controllers.ts";

interface Role {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
  readonly rules?: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
    readonly verbs: readonly string[];
  }[];
}
const roles = parseAllDocuments(readFileSync(resolve(import.meta.dir, "../../../deploy/rbac.yaml"), "utf8"))
  .map((document) => document.toJS() as Role)
  .filter(({ rules }) => rules !== undefined);

const isGranted = ({ verb, group, resource, subresource, namespace, name }: AccessRequest): boolean =>
  roles.some(
    ({ kind, metadata, rules = [] }) =>
      (kind === "ClusterRole" || metadata.namespace === namespace) &&
      rules.some(
        (rule) =>
          rule.apiGroups.includes(group) &&
          rule.resources.includes(subresource === "" ? resource : `${resource}/${subresource}`) &&
          rule.verbs.includes(verb) &&
          // When a field selector selects one object, a real server reads its name; the test API server does not.
          (rule.resourceNames === undefined || name === "" || rule.resourceNames.includes(name)),
      ),
  );

const openWorld = () => {
  const clock = new VirtualClock();
  const refused: string[] = [];
  const authorize = (_: unknown, question: AccessRequest): boolean => {
    const isAllowed = isGranted(question);
    if (!isAllowed) refused.push(`${question.verb} ${question.resource}${question.path}`);
    return isAllowed;
  };
  const server = new ApiServer({ clock, random: seededRandom(1), options: { authorize } });
  const cloud = new FakeCloud({ clock, token: "good", latency: milliseconds(10) });
  const ends: (() => Promise<void>)[] = [];
  const replica = async (name: string, token: string) => {
    const stop = new AbortController();
    const manager = await createManager(
      {
        provider: fake as unknown as AnyProvider,
        settings: readFlags(["--master=http://test-api-server", "--configure-cloud-routes=false"]),
        log: createLog({ format: "text", verbosity: 0, clock, write: () => undefined }),
        platform: {
          clock,
          random: seededRandom(name.length),
          files: new MemoryFiles({}).files,
          transport: asTransport(server, { username: "fairlead", groups: ["system:authenticated"] }),
          cloudTransport: cloudTransport(cloud),
          environment: { HOSTNAME: name, FAKE_TOKEN: token },
        },
      },
      stop.signal,
    );
    const running = manager.run();
    let hasEnded = false;
    const end = async (): Promise<void> => {
      if (hasEnded) return;
      hasEnded = true;
      stop.abort(new Draining("asked to stop", new AbortController().signal));
      await clock.advance(seconds(5));
      await running;
    };
    ends.push(end);
    return { manager, end };
  };
  const join = (name: string): void => {
    cloud.machines.add(name);
    const node = toNode({ name, uid: `uid-${name}`, spec: { taints: [uninitialized] } });
    server.store.put(resourceNamed("nodes"), node as never);
  };
  const specOf = (name: string) => (server.store.get("nodes", undefined, name) as unknown as Node).spec;
  const reasons = () => server.store.list("events", "default").map((event) => String(event["reason"]));
  return { clock, cloud, refused, replica, join, specOf, reasons, ends };
};

let world: ReturnType<typeof openWorld> | undefined;
afterEach(async () => {
  for (const end of world?.ends ?? []) await end();
});

test("two replicas with a valid token and the shipped roles lead in turn without a forbidden request [S6]", async () => {
  world = openWorld();
  const { clock, cloud, refused, replica, join, specOf } = world;
  const first = await replica("one", "good");
  await clock.advance(seconds(5));
  const second = await replica("second", "good");
  join("a");
  await clock.until(() => specOf("a").providerID !== undefined, seconds(30), "the first node");
  expect([first.manager.leads(), second.manager.leads()]).toEqual([true, false]);
  await first.end();
  await clock.advance(seconds(5));
  expect(second.manager.leads()).toBe(true);
  join("b");
  await clock.until(() => specOf("b").providerID !== undefined, seconds(30), "the second node");
  expect(specOf("b").taints ?? []).toEqual([]);
  expect(cloud.seen.length).toBeGreaterThan(1);
  expect(refused).toEqual([]);
});

test("a rejected cloud token changes nothing, and the waiting Node gets an event [S6]", async () => {
  world = openWorld();
  const { clock, replica, join, specOf, reasons } = world;
  await replica("one", "bad");
  join("a");
  await clock.advance(seconds(60));
  expect(specOf("a")).toEqual({ taints: [uninitialized] });
  expect(reasons()).toContain("CloudAuthFailed");
});
