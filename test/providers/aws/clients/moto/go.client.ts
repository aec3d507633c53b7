// The Go manager and Fairlead beside each other, each on an empty moto. What they leave there, in Services and in Nodes is equal,
// and so are their changes, except for the differences listed here. Fairlead sends no more requests than the Go manager in any
// part. Runs as `npm run test:clients -- aws/moto-go`.

import { expect, test } from "bun:test";
import { fairlead } from "../../../../../scripts/rehearse/rehearsal.ts";
import { Stage } from "../../../../../scripts/rehearse/stage.ts";
import { differences, type State } from "../../../../../scripts/rehearse/state.ts";
import { startMoto } from "./moto-server.ts";
import { motoStage } from "./moto-stage.ts";

interface Act {
  readonly title: string;
  /** All requests, including those for Nodes. */
  readonly requests: number;
  /** How often each change was sent. */
  readonly changes: Readonly<Record<string, number>>;
  readonly state: State;
}

const counted = (all: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries([...Map.groupBy(all.toSorted(), (one) => one)].map(([one, some]) => [one, some.length]));

async function acts(manager: string): Promise<readonly Act[]> {
  await using server = await startMoto(process.env["MOTO_SERVER"] ?? "");
  const { definition, moto, services } = await motoStage(server.url);
  await using stage = await Stage.open(definition);
  const played: Act[] = [];
  const play = async (title: string, begin: () => void) => {
    begin();
    await stage.settle();
    const { changes, requests } = stage.deeds();
    played.push({ title, requests, changes: counted(changes), state: moto.readable(await stage.state()) });
  };
  // Services wait for all Nodes, so that no target joins later.
  await play("three Nodes join", () => stage.start(manager));
  await play("37 Services are created", () => stage.create(services));
  await play("a Service is changed, and one is created", () => stage.change(0));
  await play("a Service is changed, one is created and one is deleted", () => stage.change(1));
  return played;
}

/** Differences that are not faults. */
const differs: Readonly<Record<string, string>> = {
  'target group k8s-default-nlbtimeo-03dcea0c91: HealthCheckTimeoutSeconds was "10" and is "7"':
    "The Go manager never sends the annotation healthcheck-timeout of a network load balancer.",
};

/** Changes of which Fairlead sends fewer. */
const fewer: Readonly<Record<string, string>> = {
  "elb:ModifyLoadBalancerAttributes":
    "The Go manager writes them after each creation, also if they are the defaults.",
  "elbv2:ModifyLoadBalancerAttributes": "The same.",
  "ec2:AuthorizeSecurityGroupIngress": "Fairlead adds all rules of a security group in one request.",
};

const goManager = process.env["AWS_CCM"] ?? "";

test("the Go manager and Fairlead leave the same state, and send the same changes", async () => {
  // One manager after the other, because moto answers one request at a time.
  const go = await acts(goManager);
  const ours = await acts(fairlead);
  const found = new Set<string>();
  for (const [index, { title, requests, changes, state }] of go.entries()) {
    const other = ours[index];
    const isLess = (other?.requests ?? Number.POSITIVE_INFINITY) <= requests;
    expect({ title, go: requests, fairlead: other?.requests, isLess }).toMatchObject({ isLess: true });
    for (const one of differences(state, other?.state ?? {})) found.add(one);
    const sent = other?.changes ?? {};
    const more = Object.keys(fewer).filter((one) => (sent[one] ?? 0) > (changes[one] ?? 0));
    expect({ title, more }).toEqual({ title, more: [] });
    const rest = (all: Act["changes"]) => Object.entries(all).filter(([one]) => fewer[one] === undefined);
    expect({ title, changes: rest(sent) }).toEqual({ title, changes: rest(changes) });
  }
  expect([...found]).toEqual(Object.keys(differs));
});
