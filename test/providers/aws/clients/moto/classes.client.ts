// Fairlead for one class beside the Go manager, on one moto and one real API server. Runs as `npm run test:clients
// -- aws/classes`.

import { expect, test } from "bun:test";
import type { State } from "../../../../../scripts/rehearse/state.ts";
import { playBeside } from "../../../../clients/classes/beside.ts";
import type { ClassCloud } from "../../../../clients/classes/class-world.ts";
import { startMoto } from "./moto-server.ts";
import { motoStage } from "./moto-stage.ts";

const ports: Readonly<Record<string, (one: Any) => readonly number[]>> = {
  classic: ({ ListenerDescriptions }) =>
    ListenerDescriptions.map(({ Listener }: Any) => Number(Listener.LoadBalancerPort)),
  network: ({ Listeners }) => (Listeners ?? []).map(({ Port }: Any) => Number(Port)),
};
// biome-ignore lint/suspicious/noExplicitAny: the members of responses.
type Any = any;

function portsIn(state: State): Readonly<Record<string, readonly number[]>> {
  return Object.fromEntries(
    Object.entries(state).flatMap(([key, one]) => {
      const [, kind = "", name = ""] = /^(classic|network) load balancer of default\/(.*)$/.exec(key) ?? [];
      return name === "" ? [] : [[name, ports[kind]?.(one) ?? []]];
    }),
  );
}

/**
 * The changes that a load balancer can get. The Go manager closes Nodes to a given security group that another
 * load balancer uses.
 */
const families = [
  ["plain", "ports", "sources", "draining", "zones", "logs", "check", "local"],
  ["plain", "extra"],
  ["nlb-plain", "nlb-ports", "nlb-local", "nlb-sources", "nlb-check", "nlb-http", "nlb-tags"],
  ["nlb-udp"],
];

const checked = "8080";
const shared = "kubernetes.io/rule/nlb/";

/**
 * One rule can serve load balancers of both managers: a rule for path MTU discovery, or for a port that several
 * load balancers check.
 */
const isShared = ({ fromPort, ipRanges }: Any): boolean =>
  (ipRanges ?? []).some(({ description: text = "" }: Any) => text.startsWith(`${shared}mtu`)) ||
  fromPort === checked;

function withoutShared<T>(value: T): T {
  const { "security group nodes": group, ...rest } = value as Any;
  if (group === undefined) return value;
  const rules: readonly Any[] = group.ipPermissions ?? [];
  return {
    ...rest,
    "security group nodes": { ...group, ipPermissions: rules.filter((one) => !isShared(one)) },
  };
}

function faultsIn(state: State): readonly string[] {
  const all: readonly Any[] = Object.values(state);
  const rules: readonly Any[] = (state["security group nodes"] as Any).ipPermissions ?? [];
  const texts = rules.flatMap(({ ipRanges }) =>
    (ipRanges ?? []).map(({ description = "" }: Any) => description),
  );
  const has = (kind: string): boolean => texts.some((text) => text.startsWith(shared + kind));
  const needsCheck = all.some(({ HealthCheckPort: port }) => port === checked);
  const isChecked = rules.some(({ fromPort }) => fromPort === checked);
  return [
    ...(has("mtu") === has("client") ? [] : [`rules of Nodes: ${texts.join(", ")}`]),
    // The Go manager leaves the rule of a load balancer that Fairlead has left to it.
    ...(isChecked || !needsCheck ? [] : [`no rule for health checks of port ${checked}`]),
  ];
}

async function openMoto(): Promise<ClassCloud> {
  const server = await startMoto(process.env["MOTO_SERVER"] ?? "");
  const { definition, moto, services } = await motoStage(server.url);
  const accesses = { go: definition.open(), fairlead: definition.open() };
  const { nodes = [] } = accesses.go;
  return {
    services,
    families,
    nodes,
    accessOf: (manager) => {
      const { flags, env, api } = accesses[manager];
      const takeChanges = () => {
        const all = api.seen.filter(({ mutates }) => mutates);
        api.forget();
        return all.map(({ operation, body }) => `${operation} ${JSON.stringify(body)}`);
      };
      return { flags, env, takeChanges };
    },
    read: () => moto.read(),
    readable: (value) => moto.readable(withoutShared(value)),
    portsIn,
    faultsIn,
    [Symbol.asyncDispose]: async () => {
      for (const one of Object.values(accesses)) await one[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

test("serves its load balancer class beside the Go manager through 60 changes, and changes nothing else [F105]", async () => {
  const programs = { go: process.env["AWS_CCM"] ?? "", fairlead: "aws" };
  const count = Number(process.env["FAIRLEAD_CHANGES"] ?? 60);
  const seed = Number(process.env["FAIRLEAD_SEED"] ?? 105);
  const { ofFairlead, trespasses } = await playBeside(openMoto, programs, { seed, count });
  expect(trespasses).toEqual([]);
  expect(ofFairlead).toBeGreaterThan(count);
});
