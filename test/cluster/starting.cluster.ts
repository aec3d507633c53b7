// Starts of the executable with kubeconfig problems: permanent problems end it with exit code 2, temporary ones
// are retried, and each has its own message.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { milliseconds } from "../../src/core/brand.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { freePort } from "./rig/free-port.ts";

/** A separate control plane, because it issues certificates. */
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(async () => {
  await plane.stop();
});
let cluster: Cluster;
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

const kubeconfig = (
  ca: string,
  server: string,
  credentials: { token?: string; cert?: string; key?: string },
): string => cluster.file("kubeconfig", writeKubeconfig(ca, [{ name: "tried", server, ...credentials }]));
const admin = () => plane.issue("admin", ["system:masters"]);

describe("exits with code 2 when the kubeconfig is invalid", () => {
  const cases: readonly (readonly [string, () => string, string])[] = [
    [
      "missing",
      () => `${cluster.folder}/nowhere`,
      "/nowhere (ENOENT). Check that the file exists and is readable.",
    ],
    ["malformed", () => cluster.file("kubeconfig", "clusters: [\n  {"), "is invalid:"],
    ["empty", () => cluster.file("kubeconfig", ""), "kubeconfig"],
    [
      "without its context",
      () =>
        cluster.file(
          "kubeconfig",
          JSON.stringify({ "current-context": "gone", contexts: [], clusters: [], users: [] }),
        ),
      'has no context "gone"',
    ],
    [
      "with a missing token file",
      () =>
        cluster.file(
          "kubeconfig",
          JSON.stringify({
            "current-context": "x",
            contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
            clusters: [{ name: "c", cluster: { server: plane.server } }],
            users: [{ name: "u", user: { tokenFile: "no-token" } }],
          }),
        ),
      "token file",
    ],
  ];
  test.each(cases)("%s", async (_, path, text) => {
    const manager = cluster.manager({ kubeconfig: path() });
    expect(await manager.exited).toBe(2);
    expect(manager.output()).toContain(text);
    expect(manager.output().trim().split("\n")).toHaveLength(1);
  });
});

describe("a temporary problem is reported and retried", () => {
  const cases: readonly (readonly [string, () => string, string])[] = [
    [
      "an authority that did not sign the server's certificate",
      () => kubeconfig(createAuthority("another", systemClock, systemRandom).cert, plane.server, admin()),
      "is not signed by the configured certificate authority",
    ],
    [
      "an unreachable server",
      () => kubeconfig(plane.ca, `https://127.0.0.1:${freePort()}`, admin()),
      "Cannot reach the API server at https://127.0.0.1:",
    ],
    ["an unknown token", () => kubeconfig(plane.ca, plane.server, { token: "unknown" }), "returned 401"],
    [
      "a user without permissions",
      () => kubeconfig(plane.ca, plane.server, plane.issue("without-permissions", [])),
      "returned 403 for",
    ],
    [
      "a client certificate that has expired",
      () => kubeconfig(plane.ca, plane.server, plane.issue("old", ["system:masters"], milliseconds(-60_000))),
      "expired on",
    ],
  ];
  test.each(cases)("%s", async (_, path, text) => {
    const manager = cluster.manager({ kubeconfig: path() });
    await cluster.until(`the message "${text}"`, () => manager.output().includes(text));
    expect(manager.exitCode()).toBeNull();
    expect(manager.output()).not.toContain("PRIVATE KEY");
    manager.signal("SIGTERM");
    expect(await manager.exited).toBe(0);
  });
});

test("finds an API server that starts later without a restart", async () => {
  await plane.killServer();
  const manager = cluster.manager({ flags: ["--leader-elect=false"] });
  await cluster.until("the message", () => manager.output().includes("Cannot reach the API server"));
  await plane.startServer();
  cluster.cloud.machines.add("patient");
  await cluster.join("patient");
  await cluster.initialized("patient");
});
