// What happens in the playground: the nodes join, then one machine is switched off and one vanishes. Each chapter says
// when it is over; the story is settled when all are.

import { resourceNamed } from "../../src/testing/apiserver/objects/resource-table.ts";
import type { Sandbox } from "./sandbox.ts";

const shutdown = "node.cloudprovider.kubernetes.io/shutdown";
const uninitialized = "node.cloudprovider.kubernetes.io/uninitialized";

const services = resourceNamed("services");

function serviceNamed(name: string): Parameters<Sandbox["server"]["objects"]["create"]>[2] {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default" },
    spec: {
      type: "LoadBalancer",
      selector: { app: name },
      ports: [{ name: "http", port: 80, protocol: "TCP" }],
    },
  };
}

export interface Chapter {
  readonly title: string;
  begin(): void;
  /** Undefined once it is over; before, what it still waits for. */
  waitsFor(): string | undefined;
}

export function storyOf({ server, cloud, manager }: Sandbox, count: number): readonly Chapter[] {
  const node = (name: string) => manager.nodes.get(name);
  const taints = (name: string) => node(name)?.spec.taints?.map(({ key }) => key) ?? [];
  const isReady = (name: string) =>
    node(name)?.status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") === true;
  const stopped = "node-2";
  const vanished = "node-3";
  const joins: Chapter = {
    title: `${count === 1 ? "one node joins" : `${count} nodes join`}, tainted until the cloud knows ${count === 1 ? "it" : "them"}`,
    begin: () => undefined,
    waitsFor: () => {
      const names = cloud.machines.list().map(({ name }) => name);
      const waiting = names.filter((name) => taints(name).includes(uninitialized) || !isReady(name));
      return waiting.length === 0
        ? undefined
        : `${waiting.length} nodes to be schedulable, ${waiting[0]} among them`;
    },
  };
  const stops: Chapter = {
    title: `the machine of ${stopped} is switched off`,
    begin: () => void cloud.machines.setStatus(stopped, "stopped"),
    waitsFor: () => (taints(stopped).includes(shutdown) ? undefined : `${stopped} to get its shutdown taint`),
  };
  const vanishes: Chapter = {
    title: `the machine of ${vanished} vanishes`,
    begin: () => void cloud.machines.remove(vanished),
    waitsFor: () => (node(vanished) === undefined ? undefined : `${vanished} to be proved gone and deleted`),
  };
  /** Whatever else somebody makes with kubectl meanwhile is their affair. */
  const ours = ["shop", "blog"];
  let blog: string | undefined;
  const asks: Chapter = {
    title: "two Services ask for a load balancer",
    begin: () => {
      for (const name of ours) server.objects.create(services, "default", serviceNamed(name));
    },
    waitsFor: () => {
      const asking = ours.flatMap((name) => manager.services.get(`default/${name}`) ?? []);
      const waiting = asking.filter(({ status }) => (status.loadBalancer?.ingress ?? []).length === 0);
      if (asking.length < ours.length) return "the Services to be seen";
      return waiting[0] === undefined ? undefined : `${waiting[0].metadata.name} to have an address`;
    },
  };
  const drops: Chapter = {
    title: "the Service blog is deleted",
    begin: () => {
      blog = manager.services.get("default/blog")?.metadata.uid;
      server.objects.delete(services, "default", "blog");
    },
    waitsFor: () =>
      cloud.balancers.list().some(({ labels }) => Object.values(labels).includes(blog ?? ""))
        ? "its load balancer to be gone"
        : undefined,
  };
  return count >= 3 ? [joins, asks, stops, vanishes, drops] : [joins, asks, drops];
}
