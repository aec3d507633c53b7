// Thirteen emergencies: how each begins, where an operator must find its cause and remedy, and the remedy.

import { createServer, type Server } from "node:net";
import type { KubernetesObject } from "@kubernetes/client-node";
import { allNeeds, permissionsOf } from "../../src/app/permissions.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { defined } from "../../src/core/defined.ts";
import { leases, services } from "../../src/kube/resources.ts";
import { writeKubeconfig } from "../../src/testing/apiserver/serving/https-server.ts";
import { nodeNames, type Scene, type Surface, token } from "./scene.ts";

export interface Emergency {
  readonly name: string;
  /** The event, for the report. */
  readonly what: string;
  /** Begins the emergency. The manager runs and everything has converged at this time, unless `coldStart` is set. */
  begin(scene: Scene): Promise<unknown>;
  /** The manager does not run yet, because the emergency is in its set-up. */
  readonly coldStart?: true;
  /** The text that each surface must show. */
  readonly shows: Readonly<Partial<Record<Surface, RegExp>>>;
  /** Does what the operator would do. */
  remedy(scene: Scene): Promise<unknown>;
}

const held = new WeakMap<Scene, Server>();
const hold = (scene: Scene, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    held.set(scene, server);
    server.on("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });

/** A kubeconfig with a client certificate. */
function kubeconfigOf(scene: Scene, user: string, groups: readonly string[], lifetime?: number): string {
  const { plane, cluster } = scene;
  const issued = plane.issue(user, groups, lifetime === undefined ? undefined : milliseconds(lifetime));
  return cluster.file(
    `${user}.kubeconfig`,
    writeKubeconfig(plane.ca, [{ name: user, server: plane.server, ...issued }]),
  );
}

function outage(scene: Scene, status: number, code: string): void {
  scene.cloud.faults.add({ kind: "status", status, code, calls: 1_000_000 });
}

/** Grants all permissions that a manager needs, except some. */
async function grant(scene: Scene, user: string, isMissing: (resource: string, verb: string) => boolean) {
  const group = "rbac.authorization.k8s.io";
  const create = (body: object) =>
    scene.cluster.api.objects.create({ apiVersion: `${group}/v1`, ...body } as KubernetesObject);
  const needed = permissionsOf(allNeeds, { namespace: "kube-system", name: scene.cluster.leaseName });
  for (const namespace of [undefined, "kube-system"]) {
    const kind = namespace === undefined ? "ClusterRole" : "Role";
    const rules = needed
      .filter((each) => each.namespace === namespace && !isMissing(each.resource, each.verb))
      .map(({ group: apiGroup, resource, verb, name }) => ({
        apiGroups: [apiGroup],
        resources: [resource],
        verbs: [verb],
        ...(name !== undefined && { resourceNames: [name] }),
      }));
    const metadata = { name: user, ...defined({ namespace }) };
    await create({ kind, metadata, rules });
    const roleRef = { apiGroup: group, kind, name: user };
    const subjects = [{ kind: "User", name: user, apiGroup: group }];
    await create({ kind: `${kind}Binding`, metadata, roleRef, subjects });
  }
}

const restart = async (scene: Scene, options: Parameters<Scene["start"]>[0] = {}): Promise<void> => {
  await scene.stop();
  scene.start(options);
};

function annotate(scene: Scene, name: string, onDelete: string): Promise<unknown> {
  const contentType = "application/merge-patch+json";
  const body = { metadata: { annotations: { "fairlead.dev/on-delete": onDelete } } };
  return scene.cluster.api.patch(services, { namespace: "default", name }, { contentType, body });
}

const newService = (scene: Scene) => scene.createService("new");

export const emergencies: readonly Emergency[] = [
  {
    name: "rejected-token",
    what: "The cloud's token was revoked, and a user creates a Service.",
    begin: async (scene) => {
      scene.cloud.tokens.revoke(token);
      await newService(scene);
    },
    shows: {
      log: /rejected the credentials.*HCLOUD_TOKEN/,
      events: /default|new.*rejected the credentials/,
      explain: /Service default\/new: problem\n {2}.*rejected the\s+credentials/,
      offline: /rejected the\s+credentials/,
      status: /rejected the credentials/,
      doctor: /CloudAuthFailed/,
    },
    remedy: async (scene) => scene.cloud.tokens.add(token),
  },
  {
    name: "outage",
    what: "The cloud answers every request with 503, and a user creates a Service.",
    begin: async (scene) => {
      outage(scene, 503, "unavailable");
      await newService(scene);
    },
    shows: {
      log: /503/,
      events: /Service\/new.*503/,
      explain: /Service default\/new: (problem|waiting)\n {2}[\s\S]{0,200}503/,
      offline: /503/,
      status: /503/,
      doctor: /CloudUnavailable/,
    },
    remedy: async (scene) => scene.cloud.faults.clear(),
  },
  {
    name: "rate-limit",
    what: "Another client uses up the requests of the account: 429 for every request, and a user creates a Service.",
    begin: async (scene) => {
      scene.useUpRequests();
      await newService(scene);
    },
    shows: {
      log: /429|rate limit/i,
      events: /Service\/new.*(429|rate limit)/i,
      explain: /Service default\/new: (problem|waiting)\n {2}[\s\S]{0,200}(429|rate limit)/i,
      offline: /429|rate limit/i,
      status: /429|rate limit/i,
      doctor: /CloudThrottled/,
    },
    remedy: (scene) => scene.stopOthers(),
  },
  {
    name: "mistyped-network",
    what: "The network in HCLOUD_NETWORK does not exist.",
    coldStart: true,
    begin: async (scene) => scene.start({ env: { HCLOUD_NETWORK: "clustr" } }),
    shows: {
      log: /clustr/,
      events: /clustr/,
      explain: /clustr/,
      offline: /clustr/,
      status: /clustr/,
      doctor: /clustr/,
    },
    remedy: (scene) => restart(scene),
  },
  {
    name: "mass-disappearance",
    what: "The cloud no longer shows any server, and every Node is NotReady.",
    begin: async (scene) => {
      const { servers } = scene.cloud.project;
      for (const { id } of servers.list())
        scene.cloud.faults.hide({ resource: id, from: "both", milliseconds: 3_600_000 });
      for (const name of nodeNames) await scene.cluster.ready(name, false);
    },
    shows: {
      log: /MassDeletionHeld|treated as a cloud fault/,
      events: /MassDeletionHeld.*(annotate)/,
      explain: /treated as a\s+cloud fault/,
      offline: /treated as a\s+cloud fault/,
      doctor: /NoMachineInCloud/,
      status: /treated as a cloud fault/,
    },
    remedy: async (scene) => {
      scene.cloud.faults.clear();
      for (const name of nodeNames) await scene.cluster.ready(name, true);
    },
  },
  {
    name: "two-managers",
    what: "A second manager with another Lease runs in the same cluster.",
    begin: async (scene) => {
      scene.startSecond();
      await newService(scene);
    },
    shows: {
      events: /LeaderElection.*Lease\/second.*became leader/,
      explain: /Several managers lead at the same time/,
      offline: /Several managers lead at the same time/,
      doctor: /TwoManagersLead/,
    },
    remedy: (scene) => scene.stopOthers(),
  },
  {
    name: "wrong-cluster-name",
    what: "The manager restarts with another --cluster-name.",
    begin: (scene) => restart(scene, { flags: ["--cluster-name=other"] }),
    shows: {
      // The marks of this cloud do not name the cluster, so nothing may change.
      log: /The last leader of this cluster had --cluster-name="kubernetes", and this one has "other"/,
      events: /ClusterNameChanged/,
      explain: /All Nodes and Services are settled/,
      offline: /--cluster-name=other/,
    },
    remedy: (scene) => restart(scene),
  },
  {
    name: "missing-permission",
    what: "The ClusterRole lacks the permission to patch the status of Services.",
    coldStart: true,
    begin: async (scene) => {
      await grant(scene, "limited", (resource, verb) => resource === "services/status" && verb === "patch");
      scene.start({ kubeconfig: kubeconfigOf(scene, "limited", []) });
    },
    shows: {
      log: /patch services\/status/,
      events: /services\/status/,
      explain: /services\/status/,
      offline: /A manager reported[\s\S]{0,200}services\/status/,
      status: /services\/status/,
      doctor:
        /not checked: PermissionsUnchecked[\s\S]*KubernetesRefused|KubernetesRefused[\s\S]*services\/status/,
    },
    remedy: (scene) => restart(scene),
  },
  {
    name: "other-holder",
    what: "A Go manager holds the Lease and renews it.",
    coldStart: true,
    begin: async (scene) => {
      await scene.holdLease("go-node_1f0c");
      scene.start();
    },
    shows: {
      log: /go-node_1f0c/,
      explain: /go-node_1f0c leads[\s\S]*changes nothing while it runs/,
      offline: /go-node_1f0c/,
      status: /go-node_1f0c/,
      doctor: /OtherManagerLeads/,
    },
    remedy: (scene) => scene.stopOthers(),
  },
  {
    name: "deleted-lease",
    what: "A user deletes the Lease.",
    begin: async (scene) => {
      await scene.cluster.api.delete(leases, { namespace: "kube-system", name: scene.cluster.leaseName });
    },
    shows: { log: /The Lease \S+ was deleted/, events: /LeaseDeleted/ },
    remedy: async () => undefined,
  },
  {
    name: "stuck-terminating",
    what: "A Service is deleted, and its annotation on-delete is misspelt.",
    begin: async (scene) => {
      await scene.createService("gone");
      await scene.settle();
      await annotate(scene, "gone", "keep");
      await scene.cluster.api.delete(services, { namespace: "default", name: "gone" });
    },
    shows: {
      log: /on-delete/,
      events: /Service\/gone.*on-delete/,
      explain: /Service default\/gone: (problem|held)\n {2}[\s\S]{0,200}on-delete/,
      offline: /on-delete/,
      status: /on-delete/,
    },
    remedy: (scene) => annotate(scene, "gone", "delete"),
  },
  {
    name: "port-in-use",
    what: "Another program listens on the secure port.",
    coldStart: true,
    begin: async (scene) => {
      await hold(scene, scene.port);
      await scene.start().exited;
    },
    shows: {
      log: /--secure-port/,
      explain: /cannot reach the manager at \S+ \([^)`]*\)/,
      doctor: /PortInUse/,
    },
    remedy: async (scene) => {
      held.get(scene)?.close();
      scene.start();
    },
  },
  {
    name: "expired-certificate",
    what: "The client certificate in the kubeconfig of the manager has expired.",
    coldStart: true,
    begin: async (scene) => {
      scene.start({ kubeconfig: kubeconfigOf(scene, "expired", ["system:masters"], -60_000) });
    },
    shows: {
      log: /expired on \S+ Renew it; Fairlead reloads it when the file changes\.$/m,
      explain: /expired on/,
      offline: /No current leader|does not exist|no holder/,
      status: /expired|API server/,
      doctor: /No manager leads/,
    },
    remedy: (scene) => restart(scene),
  },
];
