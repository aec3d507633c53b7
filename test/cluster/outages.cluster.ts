// Outages of the API server and its network: a killed server, broken watches, silent connections, rotated
// credentials. The manager must lose nothing, delete nothing, and need no restart.

import { expect, test } from "bun:test";
import { renameSync } from "node:fs";
import type { V1ClusterRoleBinding } from "@kubernetes/client-node";
import { milliseconds } from "../../src/core/brand.ts";
import { serviceAccounts } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { startTcpRelay } from "./rig/tcp-relay.ts";

const quick = ["--absence-confirmation=2s", "--leader-elect=false"];

/** Each test has its own control plane, because some tests kill it. The tests mostly wait, so they run at the same time. */
const onOwnPlane = (
  title: string,
  run: (cluster: Cluster, plane: ControlPlane) => Promise<void>,
  apiServerFlags: readonly string[] = [],
): void => {
  test.concurrent(title, async () => {
    const plane = await startControlPlane({ apiServerFlags });
    try {
      await using cluster = await openCluster(plane.kubeconfig);
      await run(cluster, plane);
    } finally {
      await plane.stop();
    }
  });
};

const joined = async ({ cloud, join, initialized }: Cluster, name: string): Promise<void> => {
  cloud.machines.add(name);
  await join(name);
  await initialized(name);
};

onOwnPlane(
  "the manager survives an API server outage of 20 s and deletes no Node",
  async (cluster, plane) => {
    const manager = cluster.manager({ flags: ["--absence-confirmation=2s"] });
    await joined(cluster, "before");
    await plane.killServer();
    // Longer than the Lease duration.
    await Bun.sleep(20_000);
    expect(manager.exitCode()).toBeNull();
    await plane.startServer();
    expect((await cluster.node("before"))?.spec.providerID).toStartWith("fake://");
    await joined(cluster, "after");
    expect(await cluster.node("before")).toBeDefined();
    expect(manager.exitCode()).toBeNull();
    expect(manager.output()).toContain("Cannot reach the API server");
  },
);

/** A kubeconfig that reaches the API server through the relay. */
const throughRelay = (cluster: Cluster, plane: ControlPlane, port: number): string => {
  const user = plane.issue("relayed", ["system:masters"]);
  return cluster.file(
    "relayed.kubeconfig",
    writeKubeconfig(plane.ca, [{ name: "relayed", server: `https://127.0.0.1:${port}`, ...user }]),
  );
};

const relayed = (plane: ControlPlane) =>
  startTcpRelay({ hostname: "127.0.0.1", port: Number(new URL(plane.server).port) });

onOwnPlane("a watch that is cut during a burst resumes without missing a Node", async (cluster, plane) => {
  await using relay = relayed(plane);
  cluster.manager({ kubeconfig: throughRelay(cluster, plane, relay.port), flags: quick });
  await joined(cluster, "first");
  const names = Array.from({ length: 40 }, (_, index) => `cut-${index}`);
  for (const name of names) cluster.cloud.machines.add(name);
  for (const [index, name] of names.entries()) {
    await cluster.join(name);
    if (index % 10 === 5) relay.cut();
  }
  for (const name of names) await cluster.initialized(name);
  expect(await cluster.node("first")).toBeDefined();
});

onOwnPlane("a connection that goes silent is replaced by a new one", async (cluster, plane) => {
  await using relay = relayed(plane);
  cluster.manager({ kubeconfig: throughRelay(cluster, plane, relay.port), flags: quick });
  await joined(cluster, "first");
  relay.freeze();
  cluster.cloud.machines.add("second");
  await cluster.join("second");
  // Bookmarks are up to two minutes apart, so a watch counts as silent after 150 s.
  await cluster.until("node second", async () => (await cluster.node("second"))?.spec.providerID);
});

onOwnPlane(
  "lists objects in pages if the API server has no streaming lists [F1]",
  async (cluster) => {
    cluster.cloud.machines.add("paged");
    cluster.cloud.machines.add("watched");
    await cluster.join("paged");
    cluster.manager({ flags: quick });
    await cluster.initialized("paged");
    await cluster.join("watched");
    await cluster.initialized("watched");
    cluster.cloud.machines.remove("paged");
    await cluster.ready("paged", false);
    await cluster.until("the deletion", async () => (await cluster.node("paged")) === undefined);
  },
  ["--feature-gates=WatchList=false"],
);

onOwnPlane(
  "misses no Node while a token file is rotated and the old token is revoked",
  async (cluster, plane) => {
    const { api, cloud } = cluster;
    const tokenOf = async (name: string): Promise<string> => {
      const account = { name, namespace: "kube-system" };
      await api.create(serviceAccounts, { metadata: account });
      return api.tokenOf(account);
    };
    const apiGroup = "rbac.authorization.k8s.io";
    await api.objects.create<V1ClusterRoleBinding>({
      apiVersion: `${apiGroup}/v1`,
      kind: "ClusterRoleBinding",
      metadata: { name: "rotated" },
      roleRef: { apiGroup, kind: "ClusterRole", name: "cluster-admin" },
      subjects: [{ kind: "Group", name: "system:serviceaccounts:kube-system", apiGroup }],
    });
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
      // From now on the first token is invalid.
      await api.delete(serviceAccounts, { name: "first", namespace: "kube-system" });
    }
    for (const name of names) await cluster.initialized(name);
    expect(manager.exitCode()).toBeNull();
  },
);

onOwnPlane(
  "uses a renewed client certificate without a restart after the old one expired",
  async (cluster, plane) => {
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
    const expired = /The client certificate in \S+client\.crt expired on/;
    await cluster.until("the message", () => expired.test(manager.output()));
    expect(manager.exitCode()).toBeNull();
    use(plane.issue("renewed", ["system:masters"]));
    await joined(cluster, "welcome");
  },
);
