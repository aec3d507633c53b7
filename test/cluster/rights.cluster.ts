// Tests the manager's permissions with real RBAC. The scenario uses exactly these permissions; removing one blocks only the
// controllers that need it.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import type { KubernetesObject } from "@kubernetes/client-node";
import { type AccessUser, allNeeds, type Permission, permissionsOf } from "../../src/app/permissions.ts";
import { accountOf } from "../../src/app/service-account-token.ts";
import { defined } from "../../src/core/defined.ts";
import { certificateSigningRequests, leases, serviceAccounts, services } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { signingRequest } from "../support/create-signing-request.ts";
import { OfficialClient, orUndefined } from "../support/official-client.ts";
import { type Cluster, openCluster } from "./rig/cluster.ts";
import { type ControlPlane, startControlPlane } from "./rig/control-plane.ts";
import { freePort } from "./rig/free-port.ts";
import type { KeptProcess } from "./rig/kept-process.ts";

let plane: ControlPlane;
let auditLog = "";
beforeAll(async () => {
  plane = await startControlPlane({
    audit: true,
    // Streaming lists need only the verb watch; without them every permission is used.
    apiServerFlags: ["--feature-gates=WatchList=false"],
  });
  auditLog = plane.auditLog;
  token = await createScraper();
});
afterAll(async () => {
  await plane.stop();
});

const needs = {
  ...allNeeds,
  users: new Set([...allNeeds.users].filter((user) => user !== "leader-migration")),
};
const lease = { namespace: "kube-system", name: "ccm-rights" };
/** Every cluster has a role for the ConfigMap of the authorities, which is bound here rule by rule. */
const permissions = permissionsOf(needs, lease);
const textOf = ({ verb, resource }: Permission): string => `${verb} ${resource}`;

const ruleOf = ({ group, resource, verb, name }: Permission) => ({
  apiGroups: [group],
  resources: [resource],
  verbs: [verb],
  ...(name !== undefined && { resourceNames: [name] }),
});

/** Grants exactly these permissions to the user. */
const grant = async (cluster: Cluster, user: string, granted: readonly Permission[]): Promise<void> => {
  const group = "rbac.authorization.k8s.io";
  const apiVersion = `${group}/v1`;
  const { objects } = cluster.api;
  const subjects = [{ kind: "User", name: user, apiGroup: group }];
  for (const namespace of [undefined, "kube-system"]) {
    const kind = namespace === undefined ? "ClusterRole" : "Role";
    const rules = granted.filter((each) => each.namespace === namespace).map(ruleOf);
    const metadata = { name: user, ...defined({ namespace }) };
    await objects.create({ apiVersion, kind, metadata, rules } as KubernetesObject);
    const roleRef = { apiGroup: group, kind, name: user };
    const binding = { apiVersion, kind: `${kind}Binding`, metadata, roleRef, subjects };
    await objects.create(binding as KubernetesObject);
  }
};

const createService = (cluster: Cluster, annotations: Readonly<Record<string, string>>) =>
  cluster.api.create(services, {
    metadata: { name: "web", namespace: "default", annotations },
    spec: { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP" }], selector: { app: "web" } },
    status: {},
  });

/** Sends the request as the kubelet of the Node `stays`. */
const requestCertificate = async (cluster: Cluster, name: string): Promise<void> => {
  const user = "system:node:stays";
  const credentials = { name: user, server: plane.server, ...plane.issue(user, ["system:nodes"]) };
  const kubelet = OfficialClient.open(cluster.file("kubelet", writeKubeconfig(plane.ca, [credentials])));
  const request = btoa(signingRequest({ commonName: user, dnsNames: ["stays"] }));
  const usages = ["digital signature", "server auth"];
  const spec = { request, signerName: "kubernetes.io/kubelet-serving", usages };
  await kubelet.create(certificateSigningRequests, { metadata: { name }, spec });
};

const clusterCIDR = "10.244.0.0/16";

const accounts = ["node-controller", "service-controller", "route-controller"].map((name) => ({
  name,
  namespace: "kube-system",
}));

class Scenario implements AsyncDisposable {
  readonly cluster: Cluster;
  readonly manager: KeptProcess;
  readonly #port: number;
  /** This is also the name of its certificate request. */
  readonly #user: string;

  private constructor(cluster: Cluster, manager: KeptProcess, port: number, user: string) {
    this.#user = user;
    this.cluster = cluster;
    this.manager = manager;
    this.#port = port;
  }

  static async open(
    user: string,
    granted: readonly Permission[],
    flags: readonly string[] = [],
  ): Promise<Scenario> {
    const cluster = await openCluster(plane.kubeconfig);
    await grant(cluster, user, granted);
    cluster.cloud.machines.add("joins");
    const { id } = cluster.cloud.machines.add("stays");
    await cluster.join("joins", { podCIDR: "10.244.1.0/24", podCIDRs: ["10.244.1.0/24"] });
    const initialized = { taints: [], podCIDR: "10.244.2.0/24", podCIDRs: ["10.244.2.0/24"] };
    await cluster.join("stays", { ...initialized, providerID: `fake://${id}` });
    await cluster.join("left", { taints: [], providerID: "fake://999" });
    await cluster.ready("left", false);
    await createService(cluster, { "fairlead.dev/target-policy": "endpoints" });
    await requestCertificate(cluster, user);
    // Service accounts of an earlier test, because each scenario with --use-service-account-credentials creates its own.
    for (const name of accounts) await orUndefined(cluster.api.delete(serviceAccounts, name));
    const port = freePort();
    const credentials = { name: user, server: plane.server, ...plane.issue(user, []) };
    const manager = cluster.manager({
      kubeconfig: cluster.file("kubeconfig", writeKubeconfig(plane.ca, [credentials])),
      flags: [
        `--leader-elect-resource-name=${lease.name}`,
        `--secure-port=${port}`,
        "--bind-address=127.0.0.1",
        `--cert-dir=${cluster.folder}/certificates`,
        // Authorization for this page needs a permission that a test removes.
        "--authorization-always-allow-paths=/healthz,/readyz,/readyz/*",
        "--absence-confirmation=0s",
        `--cluster-cidr=${clusterCIDR}`,
        ...flags,
      ],
    });
    return new Scenario(cluster, manager, port, user);
  }

  async page(path: string, token?: string): Promise<string> {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const tls = { rejectUnauthorized: false };
    return (await fetch(`https://127.0.0.1:${this.#port}${path}`, { headers, tls })).text();
  }

  /** The state that each part must reach to be complete. */
  readonly done: Readonly<Record<string, () => Promise<boolean>>> = {
    "cloud-node": async () => ((await this.cluster.node("joins"))?.spec.providerID ?? "") !== "",
    "cloud-node-lifecycle": async () => (await this.cluster.node("left")) === undefined,
    service: async () => {
      const { status } = await this.cluster.api.get(services, { name: "web", namespace: "default" });
      return (status.loadBalancer?.ingress ?? []).length > 0;
    },
    "node-route": async () =>
      ((await this.cluster.node("stays"))?.status.conditions ?? []).some(
        ({ type, status }) => type === "NetworkUnavailable" && status === "False",
      ),
    "kubelet-serving-csr": async () => {
      const { status } = await this.cluster.api.get(certificateSigningRequests, { name: this.#user });
      return (status?.conditions ?? []).some(({ type }) => type === "Approved");
    },
  };

  async untilDone(part: string): Promise<void> {
    await this.cluster.until(`the work of ${part}`, async () => this.done[part]?.());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.manager.stop();
    await orUndefined(this.cluster.api.delete(leases, lease));
    await this.cluster[Symbol.asyncDispose]();
  }
}

const parts = ["cloud-node", "cloud-node-lifecycle", "service", "node-route"] as const;

let token = "";

/** The token is reviewed, and so is its access, which is denied. */
const scrape = (scenario: Scenario): Promise<string> => scenario.page("/metrics", token);

const createScraper = async (): Promise<string> => {
  const api = OfficialClient.open(plane.kubeconfig);
  const scraper = { name: "scraper", namespace: "default" };
  await api.create(serviceAccounts, { metadata: scraper });
  return api.tokenOf(scraper);
};

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly responseStatus?: { readonly code: number };
  readonly objectRef?: { readonly resource: string; readonly subresource?: string };
}

const audited = (user: string): readonly { readonly request: string; readonly code: number }[] =>
  readFileSync(auditLog, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as AuditEvent)
    .flatMap(({ user: { username }, verb, objectRef, responseStatus }) => {
      if (username !== user || objectRef === undefined) return [];
      const { resource, subresource } = objectRef;
      const what = subresource === undefined ? resource : `${resource}/${subresource}`;
      return [{ request: `${verb} ${what}`, code: responseStatus?.code ?? 0 }];
    });

test("the manager uses each of its permissions, and no request is denied [F79]", async () => {
  const user = "all-permissions";
  {
    await using scenario = await Scenario.open(user, permissions);
    for (const part of parts) await scenario.untilDone(part);
    await scenario.cluster.until("the synced event", async () =>
      (await scenario.cluster.eventsOf("joins")).some(({ reason }) => reason === "Synced"),
    );
    // The repeated problem is counted on the first event, which requires a patch.
    const annotate = async (value: string | null, reason: string, count: number): Promise<void> => {
      const body = { metadata: { annotations: { "balancer.fake.example/algorithm": value } } };
      const patch = { contentType: "application/merge-patch+json", body } as const;
      await scenario.cluster.api.patch(services, { name: "web", namespace: "default" }, patch);
      await scenario.cluster.until(`${count} of ${reason}`, async () => {
        const items = await scenario.cluster.eventsOf("web");
        return value === null || items.some((each) => each.reason === reason && (each.count ?? 1) >= count);
      });
    };
    const untilReported = (isReported: boolean): Promise<unknown> =>
      scenario.cluster.until(`a condition: ${isReported}`, async () => {
        const { status } = await scenario.cluster.api.get(services, { name: "web", namespace: "default" });
        return (status.conditions ?? []).some(({ reason }) => reason === "InvalidAnnotation") === isReported;
      });
    await annotate("fastest", "InvalidAnnotation", 1);
    await untilReported(true);
    await annotate(null, "", 0);
    await untilReported(false);
    await annotate("fastest", "InvalidAnnotation", 2);
    expect(await scrape(scenario)).toContain("system:serviceaccount:default:scraper");
    expect(await scenario.page("/readyz/permissions")).toBe("ok");
    expect(scenario.manager.output()).not.toContain("permission missing");
  }
  const requests = audited(user);
  expect(requests.filter(({ code }) => code === 401 || code === 403)).toEqual([]);
  const used = new Set(requests.map(({ request }) => request));
  // No facts of the fake cloud are stored on Services.
  used.add("patch services");
  expect([...used].toSorted()).toEqual([...new Set(permissions.map(textOf))].toSorted());
});

test("with --use-service-account-credentials, each controller writes with its account, and the process only reads", async () => {
  const user = "delegating";
  const withAccounts = {
    ...needs,
    users: new Set<AccessUser>([...needs.users, "service-account-credentials"]),
  };
  const own = permissionsOf(withAccounts, lease);
  {
    await using scenario = await Scenario.open(user, own, ["--use-service-account-credentials"]);
    for (const part of parts) await scenario.untilDone(part);
    await scenario.cluster.until("the synced event", async () =>
      (await scenario.cluster.eventsOf("joins")).some(({ reason }) => reason === "Synced"),
    );
    await scrape(scenario);
    expect(scenario.manager.output()).not.toContain("permission missing");
  }
  const requestsOf = (name: string) =>
    new Set(audited(name).map(({ request, code }) => (code === 403 ? `${request} refused` : request)));
  const unrequested = new Set(["patch events", "create serviceaccounts"]);
  expect([...requestsOf(user)].filter((request) => !unrequested.has(request)).toSorted()).toEqual(
    [...new Set(own.map(textOf))].filter((request) => !unrequested.has(request)).toSorted(),
  );
  const account = (name: string) => `system:serviceaccount:kube-system:${name}`;
  expect([...requestsOf(account("node-controller"))].toSorted()).toEqual([
    "delete nodes",
    "patch nodes",
    "patch nodes/status",
  ]);
  expect([...requestsOf(account("service-controller"))]).toEqual(["patch services/status"]);
  expect([...requestsOf(account("route-controller"))]).toEqual(["patch nodes/status"]);
});

/** Parts that are off by default, with the flags that enable them. */
const optionalParts = {
  "kubelet-serving-csr": "--controllers=*,kubelet-serving-csr",
  "leader-migration": "--enable-leader-migration",
  "service-account-credentials": "--use-service-account-credentials",
} as const satisfies Partial<Record<AccessUser, string>>;

interface Case {
  readonly flags: readonly string[];
  readonly all: readonly Permission[];
  readonly missing: Permission;
}

const isSame = (one: Permission, other: Permission): boolean =>
  textOf(one) === textOf(other) && one.name === other.name;

const nameOf = ({ missing }: Case): string => [textOf(missing), missing.name].filter(Boolean).join(" ");

/** Each permission whose absence a test must show, with flags that need it. */
const cases: readonly Case[] = [
  ...permissions.map((missing) => ({ flags: [], all: permissions, missing })),
  ...Object.entries(optionalParts).flatMap(([part, flag]) => {
    const users = new Set<AccessUser>([...needs.users, part as AccessUser]);
    const all = permissionsOf({ ...needs, users }, lease);
    const added = all.filter((one) => !permissions.some((other) => isSame(one, other)));
    return added.map((missing) => ({ flags: [flag], all, missing }));
  }),
];

const migrated = ["cloud-node-lifecycle", "service", "node-route"] as const;

/** Parts whose work in this scenario is impossible without the permission. A missing watch only delays later changes. */
const stopped = (permission: Permission): ReadonlySet<AccessUser> => {
  const { users, verb, name, isOptional } = permission;
  if (isOptional || verb === "watch") return new Set();
  // The node lifecycle controller patches Nodes for the shutdown taint only.
  if (textOf(permission) === "patch nodes") return new Set<AccessUser>(["cloud-node"]);
  if (users.includes("leader-election")) return new Set(parts);
  if (users.includes("leader-migration")) return new Set(migrated);
  if (users.includes("service-account-credentials"))
    return new Set(parts.filter((part) => name === undefined || accountOf[part] === name));
  return new Set(users);
};

/** Not requested by the scenario; test/app/report/missing-permissions.test.ts removes them. */
const unused = ["patch services", "patch events"];

test.each(
  cases
    .filter(({ missing }) => !unused.includes(textOf(missing)))
    .map((each) => [nameOf(each), each] as const),
)(
  "without %s, the log and /readyz name the permission, and everything that does not need it works [F79]",
  async (title, { flags, all, missing }) => {
    const text = textOf(missing);
    const user = `without-${title.replaceAll(/[^a-z-]/g, "-")}`;
    await using scenario = await Scenario.open(
      user,
      all.filter((each) => each !== missing),
      flags,
    );
    const { cluster, manager } = scenario;
    await cluster.until("the secure port", async () => (await scenario.page("/healthz")) !== "");
    const held = stopped(missing);
    // The Lease is held from its creation until its first renewal is due, which is enough for some of the work.
    const isUncertain = text === "update leases";
    for (const part of parts) if (!held.has(part) && !isUncertain) await scenario.untilDone(part);
    await cluster.until(`the log to name ${text}`, async () => {
      await scrape(scenario);
      return manager.output().includes(`API server returned 403: ${text} (`);
    });
    const page = await scenario.page("/readyz/permissions");
    expect(page).toContain(text);
    expect(page.startsWith("ok")).toBe(missing.isOptional);
    for (const part of held)
      if (part in scenario.done && !isUncertain) expect(await scenario.done[part]?.()).toBe(false);
    const refused = audited(user).filter(({ code }) => code === 403);
    // The API server checks the permission for the signer when a request is approved.
    const request = missing.verb === "approve" ? "patch certificatesigningrequests/approval" : text;
    expect([...new Set(refused.map((each) => each.request))]).toEqual([request]);
  },
);
