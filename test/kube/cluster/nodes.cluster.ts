// Guarded writes to Nodes and Services on a real API server, and its rejections.

import { expect, test } from "bun:test";
import type { KubeApi } from "../../../src/kube/client/api.ts";
import { KubeError } from "../../../src/kube/errors/kube-error.ts";
import type { Node } from "../../../src/kube/objects.ts";
import { finalizerPatch } from "../../../src/kube/patches/finalizer-patch.ts";
import {
  guardedNodePatch,
  nodeAddressesPatch,
  nodeConditionsPatch,
  nodeConditionsRemovalPatch,
} from "../../../src/kube/patches/node-patch.ts";
import type { Patch } from "../../../src/kube/patches/patch.ts";
import { serviceStatusPatch } from "../../../src/kube/patches/service-patch.ts";
import { nodes, services } from "../../../src/kube/resources.ts";
import { connect, never } from "./connect.ts";

const taint = { key: "node.cloudprovider.kubernetes.io/uninitialized", value: "true", effect: "NoSchedule" };

const kindOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (error instanceof KubeError ? error.kind : String(error)),
  );

export const cases = (kubeconfigPath: string): void => {
  let serial = 0;
  const fresh = async (api: KubeApi): Promise<Node> => {
    const name = `guarded-${Date.now().toString(36)}-${serial++}`;
    return api.create(nodes, { metadata: { name }, spec: { taints: [taint] }, status: {} }, never);
  };
  const send = (api: KubeApi, node: Node, patch: Patch | undefined): Promise<Node> => {
    if (patch === undefined) throw new Error("Expected a patch.");
    return api.patch(nodes, node.metadata, patch, never);
  };
  const initialization = (node: Node): Patch | undefined =>
    guardedNodePatch({
      node,
      providerID: "fake://1",
      labels: { "topology.kubernetes.io/zone": "z1", "a.b/c_d": "d" },
      taints: (node.spec.taints ?? []).filter(({ key }) => key !== taint.key),
    });

  test("initializes a Node with one guarded patch after its addresses", async () => {
    const api = await connect(kubeconfigPath);
    const node = await fresh(api);
    const addressed = await send(
      api,
      node,
      nodeAddressesPatch(node, [{ type: "InternalIP", address: "10.0.0.1" }]),
    );
    expect(addressed.status.addresses).toEqual([{ type: "InternalIP", address: "10.0.0.1" }]);
    const done = await send(api, node, initialization(node));
    expect(done.spec.providerID).toBe("fake://1");
    expect(done.metadata.labels?.["topology.kubernetes.io/zone"]).toBe("z1");
    expect(done.metadata.labels?.["a.b/c_d"]).toBe("d");
    expect(done.spec.taints?.some(({ key }) => key === taint.key)).toBe(false);
  });

  test("the API server rejects a patch when the Node's uid, taints, provider id or absent labels changed", async () => {
    const api = await connect(kubeconfigPath);
    const node = await fresh(api);
    const other = { ...node, metadata: { ...node.metadata, uid: "another" } };
    expect(await kindOf(send(api, node, initialization(other)))).toBe("precondition");
    const tainted = { ...node, spec: { taints: [taint] } };
    expect(await kindOf(send(api, node, initialization(tainted)))).toBe("precondition");
    await send(api, node, guardedNodePatch({ node, labels: { other: "1" } }));
    expect(await kindOf(send(api, node, initialization(node)))).toBe("precondition");
    const current = await api.get(nodes, node.metadata, never);
    await send(api, current, initialization(current));
    expect(
      await kindOf(send(api, current, guardedNodePatch({ node: current, providerID: "fake://2" }))),
    ).toBe("precondition");
    const last = await api.get(nodes, node.metadata, never);
    expect([last.spec.providerID, last.metadata.labels?.["other"]]).toEqual(["fake://1", "1"]);
  });

  test("patches a known Node after another client changed other values, but not after a change of a guarded value", async () => {
    const api = await connect(kubeconfigPath);
    const known = (node: Node, patch: Patch | undefined): Promise<Node> => {
      if (patch === undefined) throw new Error("Expected a patch.");
      return api.patchKnown(nodes, node, patch, never);
    };
    const node = await fresh(api);
    const both = ["10.0.0.1", "10.0.0.2"].map((address) => ({ type: "InternalIP", address }));
    const two = await known(node, nodeAddressesPatch(node, both));
    expect(two).toEqual(await api.get(nodes, node.metadata, never));
    const one = await known(two, nodeAddressesPatch(two, both.slice(1)));
    expect(one.status.addresses).toEqual(both.slice(1));
    const done = await known(one, initialization(one));
    expect(done).toEqual(await api.get(nodes, node.metadata, never));
    expect([done.spec.providerID, done.spec.taints?.some(({ key }) => key === taint.key)]).toEqual([
      "fake://1",
      false,
    ]);
    await send(api, done, nodeConditionsPatch(done, [{ type: "Other", status: "True", reason: "Other" }]));
    const labelled = await known(
      done,
      guardedNodePatch({ node: done, labels: { mine: "1" }, taints: [taint] }),
    );
    expect(labelled.metadata.labels?.["mine"]).toBe("1");
    expect(await kindOf(known(done, guardedNodePatch({ node: done, taints: [] })))).toBe("precondition");
  });

  test("accepts a patch after a status write changed only the resource version", async () => {
    const api = await connect(kubeconfigPath);
    const node = await fresh(api);
    await send(
      api,
      node,
      nodeConditionsPatch(node, [
        { type: "Ready", status: "True", lastHeartbeatTime: "2026-01-01T00:00:00Z" },
      ]),
    );
    expect(await kindOf(send(api, node, initialization(node)))).toBe("done");
  });

  test("sets and removes conditions by type, keeps all other conditions, and rejects an incorrect uid", async () => {
    const api = await connect(kubeconfigPath);
    const node = await fresh(api);
    await send(api, node, nodeConditionsPatch(node, [{ type: "Ready", status: "True" }]));
    const both = await send(
      api,
      node,
      nodeConditionsPatch(node, [{ type: "NetworkUnavailable", status: "False" }]),
    );
    expect(both.status.conditions?.map(({ type }) => type).sort()).toEqual(["NetworkUnavailable", "Ready"]);
    const one = await send(api, node, nodeConditionsRemovalPatch(node, ["NetworkUnavailable"]));
    expect(one.status.conditions?.map(({ type }) => type)).toEqual(["Ready"]);
    const other = { ...node, metadata: { ...node.metadata, uid: "another" } };
    expect(
      await kindOf(send(api, node, nodeConditionsPatch(other, [{ type: "Ready", status: "False" }]))),
    ).toBe("precondition");
  });

  test("reports a failed validation as invalid, not as a failed precondition", async () => {
    const api = await connect(kubeconfigPath);
    const node = await fresh(api);
    expect(await kindOf(send(api, node, guardedNodePatch({ node, labels: { "!!": "x" } })))).toBe("invalid");
  });

  test("rejects a delete with a stale uid or resource version as a conflict", async () => {
    const api = await connect(kubeconfigPath);
    const { metadata } = await fresh(api);
    expect(await kindOf(api.delete(nodes, metadata, { uid: "another" }, never))).toBe("conflict");
    expect(
      await kindOf(api.delete(nodes, metadata, { uid: metadata.uid, resourceVersion: "1" }, never)),
    ).toBe("conflict");
    const { uid, resourceVersion } = metadata;
    expect(await kindOf(api.delete(nodes, metadata, { uid, resourceVersion }, never))).toBe("done");
    expect(await kindOf(api.get(nodes, metadata, never))).toBe("not-found");
    expect(await kindOf(api.delete(nodes, metadata, { uid, resourceVersion }, never))).toBe("not-found");
  });

  test("writes a Service's finalizer and status with guards, including through the status subresource", async () => {
    const api = await connect(kubeconfigPath);
    const metadata = { name: `guarded-${Date.now().toString(36)}`, namespace: "default" };
    const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
    const service = await api.create(services, { metadata, spec, status: {} }, never);
    const finalizer = "service.kubernetes.io/load-balancer-cleanup";
    const add = finalizerPatch(service, finalizer, "present", "status");
    const status = serviceStatusPatch({ service, ingress: [{ ip: "192.0.2.1" }] });
    if (add === undefined || status === undefined) throw new Error("Expected patches.");
    const guarded = await api.patch(services, metadata, add, never);
    expect(guarded.metadata.finalizers).toEqual([finalizer]);
    expect(await kindOf(api.patch(services, metadata, add, never))).toBe("precondition");
    const published = await api.patch(services, metadata, status, never);
    expect(published.status.loadBalancer?.ingress?.[0]?.ip).toBe("192.0.2.1");
    expect(await kindOf(api.patch(services, metadata, status, never))).toBe("precondition");
    const remove = finalizerPatch(guarded, finalizer, "absent", "status");
    if (remove === undefined) throw new Error("Expected a patch.");
    expect((await api.patch(services, metadata, remove, never)).metadata.finalizers).toBeUndefined();
    await api.delete(services, metadata, {}, never);
  });
};
