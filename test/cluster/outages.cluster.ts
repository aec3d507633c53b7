// What happens while the way to the API server is broken: it is killed and comes back, watches are cut, the peer goes silent,
// credentials are rotated. Nothing may be lost, nothing deleted, and no restart needed.

import { afterEach, beforeEach, expect, test } from "bun:test";
import { renameSync } from "node:fs";
import { milliseconds } from "../../src/core/brand.ts";
import { serviceAccounts } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/kubeconfig.ts";
import { never } from "../kube/cluster/connect.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { startTcpRelay } from "./rig/tcp-relay.ts";

const quick = ["--node-deletion-confirmation=2s", "--leader-elect=false"];

let cluster: Cluster;
/** Of its own, because a test here kills it. */
let plane: ControlPlane;
beforeEach(async () => {
  plane = await startControlPlane();
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  await plane.stop();
});

const joined = async (name: string): Promise<void> => {
  cluster.cloud.machines.add(name);
  await cluster.join(name);
  await cluster.initialized(name);
};

test("an API server that was away for 20 s finds the manager at work again, and no node deleted", async () => {
  const manager = cluster.manager({ flags: ["--node-deletion-confirmation=2s"] });
  await joined("before");
  await plane.killServer();
  // Long enough for the Lease to be lost, and the time is what the test is about.
  await Bun.sleep(20_000);
  expect(manager.exitCode()).toBeNull();
  await plane.startServer();
  expect((await cluster.node("before"))?.spec.providerID).toStartWith("fake://");
  await joined("after");
  expect(await cluster.node("before")).toBeDefined();
  expect(manager.exitCode()).toBeNull();
  expect(manager.output()).toContain("Cannot reach the API server");
});

/** The same API server, reached through a relay. */
const throughRelay = (port: number, user = plane.issue("relayed", ["system:masters"])): string =>
  cluster.file(
    "relayed.kubeconfig",
    writeKubeconfig(plane.ca, [{ name: "relayed", server: `https://127.0.0.1:${port}`, ...user }]),
  );

const relayed = () => startTcpRelay({ hostname: "127.0.0.1", port: Number(new URL(plane.server).port) });

test("a watch that is cut goes on where it was, also in the middle of a burst", async () => {
  await using relay = relayed();
  cluster.manager({ kubeconfig: throughRelay(relay.port), flags: quick });
  await joined("first");
  const names = Array.from({ length: 40 }, (_, index) => `cut-${index}`);
  for (const name of names) cluster.cloud.machines.add(name);
  for (const [index, name] of names.entries()) {
    await cluster.join(name);
    if (index % 10 === 5) relay.cut();
  }
  for (const name of names) await cluster.initialized(name);
  expect(await cluster.node("first")).toBeDefined();
});

test("a peer that went silent is given up, and new connections are used", async () => {
  await using relay = relayed();
  cluster.manager({ kubeconfig: throughRelay(relay.port), flags: quick });
  await joined("first");
  relay.freeze();
  cluster.cloud.machines.add("second");
  await cluster.join("second");
  await cluster.until("node second", async () => (await cluster.node("second"))?.spec.providerID, {
    seconds: 150,
  });
});

test("a server without streaming lists is listed in pages [F1]", async () => {
  const old = await startControlPlane({ apiServerFlags: ["--feature-gates=WatchList=false"] });
  try {
    await using there = await openCluster(old.kubeconfig);
    there.cloud.machines.add("paged");
    there.cloud.machines.add("watched");
    await there.join("paged");
    there.manager({ flags: quick });
    await there.initialized("paged");
    await there.join("watched");
    await there.initialized("watched");
    there.cloud.machines.remove("paged");
    await there.ready("paged", false);
    await there.until("the deletion", async () => (await there.node("paged")) === undefined);
  } finally {
    await old.stop();
  }
});

test("a token file is rotated under traffic: the old token ends, and no node is missed", async () => {
  const { api, cloud } = cluster;
  const tokenOf = async (name: string): Promise<string> => {
    await api.create(serviceAccounts, { metadata: { name, namespace: "kube-system" } }, never);
    const answer = (await api.request(
      {
        verb: "create",
        resource: "serviceaccounts/token",
        path: `/api/v1/namespaces/kube-system/serviceaccounts/${name}/token`,
        body: {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenRequest",
          spec: { expirationSeconds: 3600 },
        },
      },
      never,
    )) as { readonly status: { readonly token: string } };
    return answer.status.token;
  };
  await api.request(
    {
      verb: "create",
      resource: "clusterrolebindings",
      path: "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      body: {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: "rotated" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
        subjects: [
          {
            kind: "Group",
            name: "system:serviceaccounts:kube-system",
            apiGroup: "rbac.authorization.k8s.io",
          },
        ],
      },
    },
    never,
  );
  const rotate = (token: string): void =>
    renameSync(cluster.file("token.new", token), `${cluster.folder}/token`);
  const caFile = cluster.file("ca.crt", plane.ca);
  rotate(await tokenOf("first"));
  const kubeconfig = cluster.file(
    "rotated.kubeconfig",
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: plane.server, "certificate-authority": caFile } }],
      users: [{ name: "u", user: { tokenFile: "token" } }],
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
      "current-context": "x",
    }),
  );
  const manager = cluster.manager({ kubeconfig, flags: quick });
  const names = Array.from({ length: 60 }, (_, index) => `rotated-${index}`);
  for (const name of names) cloud.machines.add(name);
  for (const [index, name] of names.entries()) {
    await cluster.join(name);
    if (index !== 20) continue;
    rotate(await tokenOf("second"));
    // From here on the server knows nobody by the first token.
    await api.delete(serviceAccounts, { name: "first", namespace: "kube-system" }, {}, never);
  }
  for (const name of names) await cluster.initialized(name);
  expect(manager.exitCode()).toBeNull();
});

test("a client certificate that has expired is renewed in its file and used without a restart", async () => {
  const kubeconfig = () => {
    const [cert, key] = ["client.crt", "client.key"];
    return cluster.file(
      "certificate.kubeconfig",
      JSON.stringify({
        clusters: [
          {
            name: "c",
            cluster: {
              server: plane.server,
              "certificate-authority-data": Buffer.from(plane.ca).toString("base64"),
            },
          },
        ],
        users: [{ name: "u", user: { "client-certificate": cert, "client-key": key } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
  };
  const use = ({ cert, key }: { readonly cert: string; readonly key: string }): void => {
    cluster.file("client.key", key);
    cluster.file("client.crt", cert);
  };
  use(plane.issue("expired", ["system:masters"], milliseconds(-60_000)));
  const manager = cluster.manager({ kubeconfig: kubeconfig(), flags: quick });
  await cluster.until("the reason to be told", () =>
    manager.output().includes("The client certificate expired on"),
  );
  expect(manager.exitCode()).toBeNull();
  use(plane.issue("renewed", ["system:masters"]));
  await joined("welcome");
});
