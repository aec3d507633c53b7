import { expect, test } from "bun:test";
import { BalancerInputs } from "../../../src/controllers/service/desired/balancer-inputs.ts";
import { GroupStates } from "../../../src/controllers/service/state/group-states.ts";
import { ServiceStates } from "../../../src/controllers/service/state/service-states.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { InputDeclaration } from "../../../src/provider/inputs.ts";
import type { JsonObject } from "../../../src/testing/apiserver/objects/json.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { scriptedWorld } from "../../support/scripted-world.ts";
import type { ServiceWorld } from "../../support/service-world.ts";

// A Secret that a Service names: it is read, passed to the plan as a value, and planned again when it changes.

const secrets = resourceNamed("secrets");
const named = { annotations: { "scripted.example/certificate": "web-cert" } };

const putSecret = ({ server }: ServiceWorld, text: string): void => {
  const data = { "tls.crt": Buffer.from(text).toString("base64") };
  if (server.store.get("secrets", "default", "web-cert") !== undefined) {
    server.objects.patch(secrets, "default", "web-cert", "", (now) => ({ ...now, data }));
    return;
  }
  const metadata = { name: "web-cert", namespace: "default" };
  server.objects.create(secrets, "default", {
    apiVersion: "v1",
    kind: "Secret",
    metadata,
    data,
  } as JsonObject);
};

const certificates = ({ things }: { readonly things: ReadonlyMap<string, { certificate?: string }> }) =>
  [...things.values()].map(({ certificate }) => certificate);

test("a Secret named by an annotation reaches the plan, and its change updates the load balancer without drift", async () => {
  const { w, script } = scriptedWorld();
  putSecret(w, "first");
  await w.start("--load-balancer-drift=report");
  w.create("web", named);
  w.create("plain");
  await w.pass(30);
  expect(certificates(script).toSorted()).toEqual(["first", undefined]);
  putSecret(w, "second");
  await w.pass(90);
  expect(certificates(script).toSorted()).toEqual(["second", undefined]);
  expect(w.events("web").join()).not.toContain("LoadBalancerDrift");
  const { length } = script.applied;
  await w.pass(3600);
  expect(script.applied).toHaveLength(length);
});

test("only the named Secret is read, and none when no Service names one", async () => {
  const { w } = scriptedWorld();
  putSecret(w, "first");
  await w.start();
  w.create("web", named);
  await w.pass(300);
  const paths = () => new Set(w.read.filter((path) => path.includes("/secrets")));
  expect([...paths()]).toEqual(["/api/v1/namespaces/default/secrets/web-cert"]);
  w.annotate("web", { "scripted.example/certificate": undefined });
  await w.pass(60);
  w.forget();
  await w.pass(300);
  expect([...paths()]).toEqual([]);
});

test("a missing Secret is reported on the Service, which waits for it", async () => {
  const { w, script } = scriptedWorld();
  await w.start();
  w.create("web", named);
  await w.pass(30);
  expect(w.get("web").status.conditions).toMatchObject([{ status: "False", reason: "MissingInput" }]);
  putSecret(w, "late");
  await w.pass(90);
  expect(certificates(script)).toEqual(["late"]);
  expect(w.get("web").status.conditions ?? []).toEqual([]);
});

test("an unreadable Secret changes nothing and is reported on the Service", async () => {
  const { w, script } = scriptedWorld();
  putSecret(w, "first");
  await w.start();
  w.create("web", named);
  await w.pass(30);
  const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 403, reason: "Forbidden" };
  w.readFault = (path) =>
    path.includes("/secrets/") ? Response.json({ ...status, message: "no" }, { status: 403 }) : undefined;
  w.crash();
  await w.start();
  const { length } = script.applied;
  await w.pass(60);
  expect(script.applied).toHaveLength(length);
  expect(w.get("web").status.conditions).toMatchObject([{ reason: "InputUnreadable" }]);
  w.readFault = undefined;
  await w.pass(120);
  expect(w.get("web").status.conditions ?? []).toEqual([]);
});

test("300 inputs are read at most once per second in total", async () => {
  const clock = new VirtualClock();
  let reads = 0;
  const readInput = async () => {
    reads += 1;
    return { version: "1" };
  };
  const groups = new GroupStates(new ServiceStates());
  const inputs = new BalancerInputs({ readInput, clock }, groups);
  const stop = new AbortController();
  const all = Array.from(
    { length: 300 },
    (_, index): InputDeclaration => ({ kind: "File", path: `/${index}` }),
  );
  await inputs.of(groups.of("group"), all, stop.signal);
  reads = 0;
  const done = inputs.run(stop.signal, () => undefined);
  await clock.advance(seconds(600));
  expect(reads).toBeGreaterThan(290);
  expect(reads).toBeLessThanOrEqual(600);
  stop.abort();
  await done;
});
