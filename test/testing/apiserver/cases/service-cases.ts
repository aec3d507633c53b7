// How an API server treats Services, Leases, Events and EndpointSlices. Each case applies to the test API server and
// a real one.

import { expect } from "bun:test";
import { listAt, objectAt, textAt, valueAt } from "../../../../src/testing/apiserver/objects/json.ts";
import { call, makeService, mergePatch, strategicPatch, type Target, type TwinCase } from "./target.ts";

const balanced = { type: "LoadBalancer", ports: [{ port: 80 }] };

export const serviceCases: readonly TwinCase[] = [
  {
    name: "sets addresses, node ports and policies of a LoadBalancer Service",
    run: async (target) => {
      const service = await makeService(target, balanced);
      const spec = objectAt(service, "spec");
      expect(spec).toMatchObject({
        sessionAffinity: "None",
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        allocateLoadBalancerNodePorts: true,
        ipFamilies: ["IPv4"],
        ipFamilyPolicy: "SingleStack",
        ports: [{ protocol: "TCP", port: 80, targetPort: 80 }],
      });
      expect(listAt(spec, "clusterIPs")).toEqual([textAt(spec, "clusterIP")]);
      expect(valueAt(listAt(spec, "ports")[0], "nodePort")).toBeGreaterThanOrEqual(30_000);
      expect(service["status"]).toEqual({ loadBalancer: {} });
    },
  },
  {
    name: "sets no node ports when allocateLoadBalancerNodePorts is false",
    run: async (target) => {
      const service = await makeService(target, { ...balanced, allocateLoadBalancerNodePorts: false });
      expect(valueAt(listAt(service, "spec", "ports")[0], "nodePort")).toBeUndefined();
      expect(valueAt(service, "spec", "allocateLoadBalancerNodePorts")).toBe(false);
    },
  },
  {
    name: "keeps the allocated ports when a client writes the spec without them",
    run: async (target) => {
      const local = { ...balanced, externalTrafficPolicy: "Local" };
      const { path, ...service } = await makeService(target, local);
      const allocated = ["ports", "healthCheckNodePort"].map((field) => valueAt(service, "spec", field));
      const spec = { ports: [{ port: 80, protocol: "TCP" }], healthCheckNodePort: null, clusterIP: null };
      const { body } = await call(target, "PATCH", path, { spec }, mergePatch);
      expect(["ports", "healthCheckNodePort"].map((field) => valueAt(body, "spec", field))).toEqual(
        allocated,
      );
    },
  },
  {
    name: "sets the ip mode of an ingress without one",
    run: async (target) => {
      const { path } = await makeService(target, balanced);
      const status = { loadBalancer: { ingress: [{ ip: "1.2.3.4" }, { hostname: "a.example" }] } };
      const { body } = await call(target, "PATCH", `${path}/status`, { status }, mergePatch);
      expect(listAt(body, "status", "loadBalancer", "ingress")).toEqual([
        { ip: "1.2.3.4", ipMode: "VIP" },
        { hostname: "a.example" },
      ]);
    },
  },
  {
    name: "rejects an invalid ingress, and any ingress on another Service type",
    run: async (target) => {
      const { path } = await makeService(target, balanced);
      const write = (ingress: unknown) =>
        call(target, "PATCH", `${path}/status`, { status: { loadBalancer: { ingress } } }, mergePatch);
      expect((await write([{ ip: "1.2.3.400", ipMode: "Foo" }])).code).toBe(422);
      await write([{ ip: "1.2.3.4" }]);
      const plain = await call(target, "PATCH", path, { spec: { type: "ClusterIP" } }, mergePatch);
      expect(plain.body["status"]).toEqual({ loadBalancer: {} });
      expect(valueAt(plain.body, "spec", "externalTrafficPolicy")).toBeUndefined();
      expect(valueAt(listAt(plain.body, "spec", "ports")[0], "nodePort")).toBeUndefined();
      const refused = await write([{ ip: "1.2.3.4" }]);
      expect(refused.code).toBe(422);
      expect(textAt(refused.body, "message")).toContain(
        "may only be used when `spec.type` is 'LoadBalancer'",
      );
    },
  },
  {
    name: "accepts the name of a Service that begins with a digit",
    since: 36,
    run: async (target) => {
      const create = (name: string) =>
        call(target, "POST", "/api/v1/namespaces/default/services", { metadata: { name }, spec: balanced });
      expect((await create(target.unique("1shop"))).code).toBe(201);
      expect((await create("-shop")).code).toBe(422);
      expect((await create("1shop.a")).code).toBe(422);
    },
  },
  {
    name: "rejects leading zeros and host bits in source ranges and addresses",
    since: 36,
    run: async (target) => {
      const root = "/api/v1/namespaces/default/services";
      const rejected = async (range: string) => {
        const body = {
          metadata: { name: target.unique("ranged") },
          spec: { ...balanced, loadBalancerSourceRanges: [range] },
        };
        const { code, body: answer } = await call(target, "POST", root, body);
        expect(code).toBe(422);
        return textAt(answer, "message");
      };
      expect(await rejected("010.0.0.0/8")).toContain("must not have leading 0s in IP or prefix length");
      expect(await rejected("10.0.0.0/08")).toContain("must not have leading 0s in IP or prefix length");
      expect(await rejected("10.0.0.1/8")).toContain("must not have bits set beyond the prefix length");
      expect(await rejected("::ffff:10.0.0.0/104")).toContain("must not have an IPv4-mapped IPv6 address");
      const { path } = await makeService(target, { ...balanced, loadBalancerSourceRanges: [" 10.0.0.0/8 "] });
      const write = (ip: string) =>
        call(
          target,
          "PATCH",
          `${path}/status`,
          { status: { loadBalancer: { ingress: [{ ip }] } } },
          mergePatch,
        );
      expect(textAt((await write("010.0.0.1")).body, "message")).toContain("must not have leading 0s");
      expect(textAt((await write("::ffff:1.2.3.4")).body, "message")).toContain(
        "must not be an IPv4-mapped IPv6 address",
      );
    },
  },
  {
    name: "keeps allocated values when an update omits them",
    run: async (target) => {
      const { path, name, ...service } = await makeService(target, balanced);
      const { resourceVersion } = objectAt(service, "metadata");
      const { code, body } = await call(target, "PUT", path, {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name, resourceVersion, labels: { a: "b" } },
        spec: balanced,
      });
      expect(code).toBe(200);
      expect(body["spec"]).toEqual(service["spec"]);
    },
  },
  {
    name: "rejects a changed cluster IP, missing ports and unnamed ports",
    run: async (target) => {
      const { path } = await makeService(target, balanced);
      expect((await call(target, "PATCH", path, { spec: { clusterIP: "10.9.9.9" } }, mergePatch)).code).toBe(
        422,
      );
      const root = "/api/v1/namespaces/default/services";
      const create = (spec: unknown) =>
        call(target, "POST", root, { metadata: { name: target.unique("bad") }, spec });
      expect(textAt((await create({})).body, "message")).toContain("spec.ports: Required value");
      const unnamed = await create({ ports: [{ port: 80 }, { port: 81 }] });
      expect(textAt(unnamed.body, "message")).toContain("spec.ports[0].name: Required value");
      expect((await create({ type: "Foo", ports: [{ port: 80 }] })).code).toBe(422);
    },
  },
  {
    name: "merges ports by number",
    run: async (target) => {
      const { path } = await makeService(target, { type: "ClusterIP", ports: [{ name: "a", port: 80 }] });
      const ports = [{ name: "b", port: 81 }];
      const { body } = await call(target, "PATCH", path, { spec: { ports } }, strategicPatch);
      expect(
        listAt(body, "spec", "ports")
          .map((port) => valueAt(port, "port"))
          .sort(),
      ).toEqual([80, 81]);
    },
  },
  {
    name: "keeps a deleted Service until its finalizers are removed, and rejects new ones",
    run: async (target) => {
      const { path } = await makeService(target, balanced);
      const finalizer = "service.kubernetes.io/load-balancer-cleanup";
      await call(target, "PATCH", path, { metadata: { finalizers: [finalizer] } }, strategicPatch);
      const terminating = await call(target, "DELETE", path);
      expect(terminating.body).toMatchObject({
        kind: "Service",
        metadata: { deletionGracePeriodSeconds: 0 },
      });
      const more = await call(
        target,
        "PATCH",
        path,
        { metadata: { finalizers: [finalizer, "a/b"] } },
        mergePatch,
      );
      expect(more.code).toBe(422);
      const metadata = { "$deleteFromPrimitiveList/finalizers": [finalizer] };
      const last = await call(target, "PATCH", path, { metadata }, strategicPatch);
      expect(last.code).toBe(200);
      expect((await call(target, "GET", path)).code).toBe(404);
    },
  },
  {
    name: "creates a Lease by PUT, then requires its version, and keeps an empty holder",
    run: async (target) => {
      const name = target.unique("lease");
      const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases/${name}`;
      const lease = { metadata: { name }, spec: { holderIdentity: "a", leaseDurationSeconds: 15 } };
      const first = await call(target, "PUT", path, lease);
      expect(first.code).toBe(201);
      expect((await call(target, "PUT", path, lease)).code).toBe(422);
      const { resourceVersion } = objectAt(first.body, "metadata");
      const spec = {
        holderIdentity: "",
        leaseDurationSeconds: 1,
        leaseTransitions: 0,
        renewTime: "2026-01-01T00:00:00.123456Z",
      };
      const released = await call(target, "PUT", path, { metadata: { name, resourceVersion }, spec });
      expect(released.body["spec"]).toEqual(spec);
      expect((await call(target, "PUT", path, { metadata: { name, resourceVersion }, spec })).code).toBe(409);
      const zero = { metadata: { name: target.unique("lease") }, spec: { leaseDurationSeconds: 0 } };
      expect((await call(target, "POST", path.slice(0, path.lastIndexOf("/")), zero)).code).toBe(422);
    },
  },
  {
    name: "names Events, selects them by their object, and rejects another namespace",
    run: async (target) => {
      const root = "/api/v1/namespaces/default/events";
      const name = target.unique("about");
      const event = { metadata: { generateName: "event-" }, reason: "R", message: "m", type: "Normal" };
      const made = await call(target, "POST", root, { ...event, involvedObject: { kind: "Node", name } });
      expect(made.code).toBe(201);
      expect(textAt(made.body, "metadata", "name")).toMatch(/^event-[a-z0-9]{5}$/);
      expect(valueAt(made.body, "eventTime")).toBeNull();
      const found = await call(target, "GET", `${root}?fieldSelector=involvedObject.name%3D${name}`);
      expect(listAt(found.body, "items")).toHaveLength(1);
      const foreign = { ...event, involvedObject: { kind: "Pod", name, namespace: "kube-system" } };
      expect((await call(target, "POST", root, foreign)).code).toBe(422);
    },
  },
  {
    name: "sets protocol and conditions of an EndpointSlice, and increases its generation, also for labels",
    run: async (target) => {
      const root = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
      const name = target.unique("slice");
      const endpoints = [{ addresses: ["10.1.2.3"] }];
      const slice = { metadata: { name }, addressType: "IPv4", ports: [{ name: "a", port: 80 }], endpoints };
      const { body } = await call(target, "POST", root, slice);
      expect(body).toMatchObject({
        metadata: { generation: 1 },
        ports: [{ name: "a", port: 80, protocol: "TCP" }],
        endpoints: [{ addresses: ["10.1.2.3"], conditions: {} }],
      });
      const labelled = await call(
        target,
        "PATCH",
        `${root}/${name}`,
        { metadata: { labels: { a: "b" } } },
        mergePatch,
      );
      const emptied = await call(target, "PATCH", `${root}/${name}`, { endpoints: [] }, mergePatch);
      expect([labelled, emptied].map((answer) => valueAt(answer.body, "metadata", "generation"))).toEqual([
        2, 3,
      ]);
    },
  },
  {
    name: "records which client added a finalizer, until it is removed",
    run: async (target) => {
      const { path } = await makeService(target, balanced);
      const as = (program: string): Target => ({
        ...target,
        headers: { ...target.headers, "user-agent": `${program}/1.0 (linux)` },
      });
      const write = async (program: string, place: string, ...finalizers: readonly string[]) => {
        const { body } = await call(as(program), "PATCH", place, { metadata: { finalizers } }, mergePatch);
        return ["a.example/a", "a.example/b"].map((finalizer) =>
          listAt(body, "metadata", "managedFields")
            .filter(
              (entry) => `v:"${finalizer}"` in objectAt(entry, "fieldsV1", "f:metadata", "f:finalizers"),
            )
            .map((entry) => textAt(entry, "manager")),
        );
      };
      expect(await write("one", `${path}/status`, "a.example/a")).toEqual([["one"], []]);
      expect(await write("two", path, "a.example/a", "a.example/b")).toEqual([["one"], ["two"]]);
      expect(await write("two", path, "a.example/b")).toEqual([[], ["two"]]);
      expect(await write("one", path)).toEqual([[], []]);
    },
  },
  {
    name: "rejects objects in a missing namespace",
    run: async (target) => {
      const spec = { ports: [{ port: 80 }] };
      const { code, body } = await call(target, "POST", "/api/v1/namespaces/none/services", {
        metadata: { name: "s" },
        spec,
      });
      expect(code).toBe(404);
      expect(body["message"]).toBe('namespaces "none" not found');
    },
  },
];
