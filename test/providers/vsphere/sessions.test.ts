// Sessions with a vCenter: when they begin and end, and which credentials they use.

import { afterEach, describe, expect, test } from "bun:test";
import { password, user } from "../../../providers/vsphere/simulator/harness.ts";
import { Sessions } from "../../../providers/vsphere/simulator/state/sessions.ts";
import { seconds } from "../../../src/core/brand.ts";
import type { KubeObject } from "../../../src/testing/apiserver/objects/kube-object.ts";
import { resourceNamed } from "../../../src/testing/apiserver/objects/resource-table.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { VSphereWorld, type VSphereWorldOptions } from "./vsphere-world.ts";

let current: VSphereWorld | undefined;
afterEach(async () => {
  if (current?.world.isRunning) await current.world.stop();
});

const zones = { "label-zone": "k8s-zone", "label-region": "k8s-region" };

function prepared(options: VSphereWorldOptions = {}): VSphereWorld {
  const h = new VSphereWorld(options);
  current = h;
  h.addNode("node-0");
  return h;
}

const sizes = ({ cloud }: VSphereWorld) => [cloud.sessions.size, cloud.restSessions.size];

test.each([
  ["8.0.3.0", [1, 0]],
  ["9.0.0.0", [1, 0]],
  ["8.0.2.0", [1, 1]],
  ["7.0.3.0", [1, 1]],
])(
  "with vCenter %s, %j API sessions are open while the manager runs, and no session after its end",
  async (version, open) => {
    const h = prepared({ settings: zones });
    h.cloud.apiVersion = version;
    expect(sizes(h)).toEqual([0, 0]);
    await h.start();
    await h.world.pass(60);
    expect(sizes(h)).toEqual(open);
    await h.world.stop();
    expect(sizes(h)).toEqual([0, 0]);
  },
);

test("a manager whose vCenter does not answer at its end stops within seconds", async () => {
  const h = prepared();
  await h.start();
  await h.world.pass(60);
  h.cloud.faults.add({ kind: "hang", operation: "Logout" });
  let hasStopped = false;
  const stopped = h.world.stop().then(() => {
    hasStopped = true;
  });
  await h.world.pass(1);
  expect(hasStopped).toBe(false);
  await h.world.pass(3);
  await stopped;
  expect(hasStopped).toBe(true);
});

describe.each(["8.0.3.0", "8.0.2.0"])("with vCenter %s", (version) => {
  async function running() {
    const h = prepared({ settings: zones });
    h.cloud.apiVersion = version;
    await h.start();
    await h.world.pass(60);
    h.forget();
    return h;
  }
  const faultOf = (operation: string) => ({ kind: "status", code: "NotAuthenticated", operation }) as const;
  const tagList = "POST tag-association list-attached-tags-on-objects";
  const open = version === "8.0.3.0" ? [1, 0] : [1, 1];

  test.each<readonly [string, (h: VSphereWorld) => void]>([
    ["vCenter restarts", ({ cloud }) => cloud.restart()],
    ["the session of the inventory ends", ({ cloud }) => cloud.sessions.endAll()],
    [
      "the session of the tags is rejected",
      ({ cloud }) => cloud.faults.add({ ...faultOf(tagList), status: 401 }),
    ],
    [
      "vCenter rejects a session that is alive, as its simulator does",
      ({ cloud }) => cloud.faults.add(faultOf("RetrievePropertiesEx")),
    ],
    ["the view is gone", ({ cloud }) => cloud.sessions.endViews()],
  ])("logs in once and repeats the request when %s, and leaves no session behind", async (_, end) => {
    const h = await running();
    end(h);
    await h.world.pass(1200);
    expect(h.cloud.counts()).toMatchObject({ Login: 1, Logout: 1 });
    expect(sizes(h)).toEqual(open);
    expect(h.world.logged.filter((line) => line.startsWith("E"))).toEqual([]);
  });

  test.each([
    ["every read of the inventory", faultOf("RetrievePropertiesEx")],
    ["every request about tags", { ...faultOf(tagList), status: 401 }],
  ])("logs in at most ten times an hour while %s loses the session, and reports why", async (_, fault) => {
    const h = await running();
    h.cloud.faults.add({ ...fault, calls: 1e9 });
    for (const _hour of [1, 2, 3]) {
      h.forget();
      // Each Node causes lookups.
      for (let index = 0; index < 10; index += 1) h.join(`joins-${_hour}-${index}`);
      await h.world.pass(3600);
      expect(h.cloud.counts()["Login"] ?? 0).toBeLessThanOrEqual(10);
      expect(sizes(h)[0]).toBeLessThanOrEqual(1);
    }
    expect(h.world.logged.join("\n")).toContain("ends each session before it has answered");
    h.cloud.faults.clear();
    await h.world.until(() => h.uninitialized === 0, "all Nodes", 3600);
  });
});

test("logs out if the view cannot be created, so that no session remains for half an hour", async () => {
  const h = prepared();
  h.cloud.faults.add({ kind: "status", status: 500, operation: "CreateContainerView", calls: 3 });
  h.join("joins");
  await h.start();
  await h.world.pass(120);
  expect(sizes(h)).toEqual([1, 0]);
  expect(h.cloud.counts()).toMatchObject({ Login: 4, Logout: 3 });
});

test("doctor leaves no session behind", async () => {
  const h = prepared({ settings: zones });
  h.cloud.apiVersion = "8.0.2.0";
  const { out } = await h.run("doctor");
  expect(out).toContain("cloud: ok");
  expect(h.cloud.counts()).toMatchObject({ Login: 1, Logout: 1, "POST session": 1, "DELETE session": 1 });
  expect(sizes(h)).toEqual([0, 0]);
});

const inSecret = {
  user: undefined,
  password: undefined,
  "secret-name": "vc",
  "secret-namespace": "kube-system",
};

describe("a rejected password", () => {
  const failures = (h: VSphereWorld) =>
    h.cloud.seen.filter(({ status }) => status === 500 || status === 401).length;

  test("tries a rejected password fewer than five times in three minutes, because vCenter would lock the account", async () => {
    const h = prepared({ settings: zones });
    h.cloud.addUser(user, "another");
    await h.start();
    for (let index = 0; index < 20; index += 1) {
      await h.world.pass(180);
      expect(failures(h)).toBeLessThan(5);
      h.cloud.forget();
    }
    expect(h.world.logged.join("\n")).toContain("rejected the credentials");
    expect(h.world.logged.join("\n")).not.toContain(password);
  });

  test("doctor names the key, section and line of a rejected password", async () => {
    const h = prepared();
    h.cloud.addUser(user, "another");
    const out = (await h.run("doctor")).out.replaceAll(/\s+/g, " ");
    expect(out).toContain("The setting password in [Global] is set by /vsphere.conf:4: ");
    expect(out).not.toContain("virtual-centers[]");
  });

  test("pauses after a rejected password, and immediately uses a new password from the Secret", async () => {
    const h = prepared({ settings: inSecret as never });
    const putSecret = (text: string): void => {
      const data = { "vcenter.username": btoa(user), "vcenter.password": btoa(`${text}\n`) };
      const metadata = { name: "vc", namespace: "kube-system" };
      const secret = { apiVersion: "v1", kind: "Secret", metadata, data };
      h.world.server.store.put(resourceNamed("secrets"), secret as unknown as KubeObject);
    };
    putSecret("wrong");
    h.join("joins");
    await h.start();
    await h.world.pass(600);
    expect(h.world.logged.join("\n")).toContain("The credential is set by Secret kube-system/vc:");
    expect(h.node("joins")?.spec.providerID).toBeUndefined();
    putSecret(password);
    await h.world.until(() => h.node("joins")?.spec.providerID !== undefined, "the Node", 330);
    // Neither the password nor its encodings.
    const logged = h.world.logged.join("\n");
    for (const text of [password, "wrong", btoa("wrong")]) expect(logged).not.toContain(text);
  });

  test.each([
    [
      "keys if the Secret lacks the server's keys",
      "Secret kube-system/vc has no vcenter.username and vcenter.password for vCenter vcenter. Its keys are other. Add them, or set user, because only password is set.",
      { password: "x" },
    ],
    [
      "Secret if it does not exist",
      "Secret kube-system/vc does not exist. Create it with vcenter.username and vcenter.password, or set user and password.",
      undefined,
    ],
  ])("an event names the missing %s", async (_, text, more) => {
    const h = prepared({ settings: { ...inSecret, ...more } as never });
    const metadata = { name: "vc", namespace: "kube-system" };
    const secret = { apiVersion: "v1", kind: "Secret", metadata, data: { other: "" } };
    if (more !== undefined)
      h.world.server.store.put(resourceNamed("secrets"), secret as unknown as KubeObject);
    h.join("joins");
    await h.start();
    await h.world.pass(60);
    expect(h.requests).not.toContain("Login");
    expect((await h.run("explain", "node/joins")).out.replaceAll(/\s+/g, " ")).toContain(
      `Warning CloudAuthFailed, from cloud-node-controller ${text}`,
    );
  });
});

describe("credentials in a Secret", () => {
  const settings = {
    user: undefined,
    password: undefined,
    "secret-name": "vc",
    "secret-namespace": "kube-system",
    ...zones,
  };

  function withSecret(values: Readonly<Record<string, string>>): VSphereWorld {
    const h = prepared({ settings: settings as never });
    h.cloud.shared = { user, token: "shared-token" };
    const data = Object.fromEntries(
      Object.entries(values).map(([key, value]) => [`vcenter.${key}`, btoa(value)]),
    );
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "vc", namespace: "kube-system" },
      data,
    };
    h.world.server.store.put(resourceNamed("secrets"), secret as unknown as KubeObject);
    h.join("joins");
    return h;
  }
  const url = { "vc-session-manager-url": "http://vcenter/shared-session" };

  test("the APIs share a clone of the session with a service for shared sessions, which ends with the manager", async () => {
    const h = withSecret({ ...url, "vc-session-manager-token": "shared-token" });
    await h.start();
    await h.world.until(() => h.node("joins")?.spec.providerID !== undefined, "the Node", 60);
    expect(h.node("joins")?.metadata.labels).toMatchObject({
      "topology.kubernetes.io/zone": "zone-DC-vcenter",
    });
    expect(h.cloud.counts()).toMatchObject({ "GET shared-session": 1, CloneSession: 1 });
    expect(h.requests).not.toContain("Login");
    expect(h.requests).not.toContain("POST session");
    expect(sizes(h)).toEqual([1, 0]);
    h.cloud.restart();
    await h.world.pass(1200);
    expect(sizes(h)).toEqual([1, 0]);
    expect(h.world.logged.filter((line) => line.startsWith("E"))).toEqual([]);
    await h.world.stop();
    expect(sizes(h)).toEqual([0, 0]);
  });

  test.each([
    ["a service for shared sessions without a token", url, "vc-session-manager-token is not"],
    [
      "a token that the service does not accept",
      { ...url, "vc-session-manager-token": "old" },
      "rejected the credentials",
    ],
    ["a service with an invalid URL", { "vc-session-manager-url": "none" }, "is no URL"],
    [
      "a certificate as user",
      { username: "-----BEGIN CERTIFICATE-----", password: "-----BEGIN PRIVATE KEY-----" },
      "a login with certificates is not supported",
    ],
  ])("reports %s as an error that names it, and no Node joins", async (_, values, text) => {
    const h = withSecret(values as unknown as Readonly<Record<string, string>>);
    await h.start();
    await h.world.pass(60);
    expect(h.node("joins")?.spec.providerID).toBeUndefined();
    expect(h.requests.filter((one) => /Login|CloneSession|POST session/.test(one))).toEqual([]);
    const { out } = await h.run("explain", "node/joins");
    expect(out.replaceAll(/\s+/g, " ")).toContain(text);
  });
});

test("a simulated vCenter forgets its sessions when it restarts", async () => {
  const clock = new VirtualClock();
  const former = new Sessions(clock).open(user);
  await clock.advance(seconds(1));
  expect(new Sessions(clock).open(user)).not.toBe(former);
});
