// The secure port and the webhook of the executable with a real API server: access with tokens and certificates of the cluster,
// certificates renewed under traffic, and Services that the webhook rejects.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import type { KubernetesObject } from "@kubernetes/client-node";
import type { Service } from "../../src/kube/objects.ts";
import { serviceAccounts, services } from "../../src/kube/resources.ts";
import { createAuthority } from "../../src/pki/authority.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { freePort } from "./rig/free-port.ts";

let plane: ControlPlane;
let cluster: Cluster;
beforeAll(async () => {
  plane = await startControlPlane();
});
afterAll(async () => {
  await plane.stop();
});
beforeEach(async () => {
  cluster = await openCluster(plane.kubeconfig);
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
});

interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

const create = (object: object) => cluster.api.objects.create(object as KubernetesObject);

const get = (port: number, path: string, { token, cert, key }: Credentials = {}, ca?: string) =>
  fetch(`https://127.0.0.1:${port}${path}`, {
    keepalive: false,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    tls: {
      ...(ca === undefined ? { rejectUnauthorized: false } : { ca }),
      ...(cert !== undefined && key !== undefined && { cert, key }),
    },
  });

const tokenOf = async (name: string): Promise<string> => {
  const account = { name, namespace: "kube-system" };
  await cluster.api.create(serviceAccounts, { metadata: account });
  return cluster.api.tokenOf(account);
};

const grantRead = (paths: readonly string[], kind: string, name: string) => async () => {
  const role = `reads-${name}`;
  await create({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: role },
    rules: [{ nonResourceURLs: paths, verbs: ["get"] }],
  });
  await create({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: role },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
    subjects: [
      kind === "User"
        ? { kind, name, apiGroup: "rbac.authorization.k8s.io" }
        : { kind, name, namespace: "kube-system" },
    ],
  });
};

const servedSerial = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).serialNumber);
      socket.destroy();
    });
    socket.on("error", reject);
  });

const started = async (...flags: readonly string[]): Promise<number> => {
  const port = freePort();
  const manager = cluster.manager({ flags: ["--bind-address=127.0.0.1", ...flags, `--secure-port=${port}`] });
  await cluster.until("the secure port", () =>
    manager.output().includes(`debugging pages on 127.0.0.1:${port}`),
  );
  await cluster.until("readiness", async () => (await get(port, "/readyz")).ok);
  return port;
};

/** Open without credentials; /version because of the role system:public-info-viewer. */
const openPages = ["/healthz", "/livez", "/readyz", "/version"];
const pages = [
  "/metrics",
  "/metrics/slis",
  "/configz",
  "/statusz",
  "/flagz",
  "/livez/watches",
  "/status",
  "/debug/state",
  "/debug/profile/heap",
  "/",
];

test("every page returns the correct status for missing, invalid, insufficient and sufficient credentials [F84 F91 N19]", async () => {
  const port = await started();
  const [allowed, denied] = [await tokenOf("scraper"), await tokenOf("without-permissions")];
  await grantRead(pages, "ServiceAccount", "scraper")();
  await grantRead(["/metrics"], "User", "carol")();
  const otherAuthority = createAuthority("fairlead-test-ca", systemClock, systemRandom);
  const forged = otherAuthority.issueClient({ commonName: "admin", organizations: ["system:masters"] });
  const statuses = async (paths: readonly string[], credentials: Credentials): Promise<readonly number[]> => [
    ...new Set(await Promise.all(paths.map(async (path) => (await get(port, path, credentials)).status))),
  ];
  expect(await statuses(openPages, {})).toEqual([200]);
  expect(await statuses(pages, {})).toEqual([403]);
  for (const wrong of [{ token: "wrong" }, { token: `${allowed}x` }, forged]) {
    expect(await statuses([...pages, ...openPages], wrong)).toEqual([401]);
  }
  expect(await statuses(pages, { token: denied })).toEqual([403]);
  expect(await statuses(pages, plane.issue("dave", []))).toEqual([403]);
  expect(await statuses(pages, { token: allowed })).toEqual([200]);
  expect(await statuses(pages, plane.issue("admin", ["system:masters"]))).toEqual([200]);
  expect(await statuses(["/metrics"], plane.issue("carol", []))).toEqual([200]);
  expect(await statuses(["/configz"], plane.issue("carol", []))).toEqual([403]);

  const metrics = await (await get(port, "/metrics", { token: allowed })).text();
  for (const name of [
    'workqueue_adds_total{name="Nodes"} ',
    "# TYPE workqueue_queue_duration_seconds histogram",
    "rest_client_requests_total",
    "leader_election_master_status",
    'running_managed_controllers{name="cloud-node",manager="cloud-controller-manager"} 1',
    "process_resident_memory_bytes",
    'apiserver_delegated_authn_request_total{code="201"}',
    "fairlead_cloud_requests_total",
  ]) {
    expect(metrics).toContain(name);
  }
  const state = await (await get(port, "/debug/state", { token: allowed })).text();
  expect(Object.keys(JSON.parse(state))).toContain("journal");
  expect(state).not.toContain(allowed);
});

test("renewing the serving certificate under traffic fails no request", async () => {
  const authority = createAuthority("serving-ca", systemClock, systemRandom);
  const write = (): string => {
    const pair = authority.issueServer("fairlead", ["127.0.0.1"]);
    writeFileSync(join(cluster.folder, "tls.key"), pair.key);
    writeFileSync(join(cluster.folder, "tls.crt"), pair.cert);
    return pair.cert;
  };
  write();
  const files = ["crt", "key"].map((end) => join(cluster.folder, `tls.${end}`));
  const port = await started(`--tls-cert-file=${files[0]}`, `--tls-private-key-file=${files[1]}`);
  const failures: string[] = [];
  let isOver = false;
  const traffic = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const reply = await get(port, "/healthz", {}, authority.cert).catch((error: unknown) =>
          String(error),
        );
        if (typeof reply === "string") failures.push(reply);
        else if (reply.status !== 200) failures.push(`status ${reply.status}`);
        // Eight clients stay below the 1,000 requests per second that one address may send.
        await Bun.sleep(10);
      }
    }),
  );
  for (let renewal = 1; renewal <= 3; renewal += 1) {
    const { serialNumber } = new X509Certificate(write());
    await cluster.until(
      `certificate ${renewal + 1}`,
      async () => (await servedSerial(port)) === serialNumber,
    );
  }
  isOver = true;
  await traffic;
  expect(failures).toEqual([]);
});

test("exits with code 1 and names the flag when the port is in use, so that systemd restarts it", async () => {
  const port = await started();
  const second = cluster.manager({ flags: ["--bind-address=127.0.0.1", `--secure-port=${port}`] });
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`--secure-port ${port} on 127.0.0.1 is in use`);
});

describe("the admission webhook behind the real API server", () => {
  test("the webhook rejects a typo with a suggestion, but never a status, a finalizer or a deletion [F48]", async () => {
    const port = freePort();
    const manager = cluster.manager({
      flags: [
        "--webhooks=*",
        "--webhook-bind-address=127.0.0.1",
        `--webhook-secure-port=${port}`,
        `--webhook-cert-dir=${cluster.folder}`,
        "--controllers=cloud-node",
      ],
    });
    await cluster.until("the webhook", () => manager.output().includes("caBundle"));
    const caBundle = /caBundle="([^"]+)"/.exec(manager.output())?.[1];
    const make = (name: string, annotations: Record<string, string>) =>
      cluster.api.create(services, {
        metadata: { name, namespace: "default", annotations },
        spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
        status: {},
      } as Parameters<typeof cluster.api.create<Service>>[1]);
    const wrong = { "balancer.fake.example/algorithm": "round-robbin" };
    const before = await make("before", wrong);
    await create({
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "fairlead" },
      webhooks: [
        {
          name: "service-annotations.fairlead.dev",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Fail",
          clientConfig: { url: `https://127.0.0.1:${port}/service-annotations`, caBundle },
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE", "DELETE"],
              resources: ["services", "services/status"],
            },
          ],
        },
      ],
    });
    await cluster.until("the webhook to be called", async () => {
      const refused = await make(`typo-${crypto.randomUUID().slice(0, 8)}`, wrong).then(
        () => "",
        (error: unknown) => String(error),
      );
      return /did you mean \W+round-robin\W+/.test(refused);
    });
    const patch = (body: object, subresource?: string) =>
      cluster.api.patch(services, { namespace: "default", name: "before" }, {
        contentType: "application/merge-patch+json",
        body,
        ...(subresource !== undefined && { subresource }),
      } as never);
    await patch({ metadata: { finalizers: ["example.com/keep"] } });
    await patch({ status: { loadBalancer: { ingress: [{ ip: "203.0.113.9" }] } } }, "status");
    await patch({ metadata: { finalizers: [] } });
    await expect(
      patch({ metadata: { annotations: { "balancer.fake.example/algorithm": "rr" } } }),
    ).rejects.toThrow("algorithm");
    await make("right", { "balancer.fake.example/algorithm": "round-robin" });
    for (const name of ["before", "right"]) {
      await cluster.api.delete(services, { namespace: "default", name });
    }
    expect(before.metadata.name).toBe("before");
  });
});
