// The builders of outcomes and publications, and types that a provider can return without conditional spreads.

import { expect, test } from "bun:test";
import {
  applicable,
  done,
  errorProblem,
  hasErrors,
  type Instance,
  inProgress,
  type ObservedRoute,
  type Plan,
  parseCidr,
  parseIp,
  planError,
  providerID,
  publishIPs,
  type Step,
  seconds,
  waitFor,
  warningProblem,
} from "../../src/index.ts";

const facts = { id: "7" };

test("a step in progress is checked after a second, unless another delay is set", () => {
  expect(inProgress("the job")).toEqual({ done: false, checkAfter: seconds(1), waitingFor: "the job" });
  expect(inProgress("the job", { checkAfter: seconds(9), operation: "op", remember: facts })).toEqual({
    done: false,
    checkAfter: seconds(9),
    waitingFor: "the job",
    operation: "op",
    remember: facts,
  });
  expect(done(facts)).toEqual({ done: true, remember: facts });
  const refused = [{ node: "node-1", text: "no such server" }];
  expect([done(facts, refused), inProgress("it", { refused }).refused]).toEqual([
    { done: true, remember: facts, refused },
    refused,
  ]);
  const plan: Plan<Step> = waitFor("the balancer", seconds(2));
  expect(plan).toEqual({ steps: [], wait: { checkAfter: seconds(2), waitingFor: "the balancer" } });
});

test("lists the problems whose conditions hold, and distinguishes errors from warnings", () => {
  const [error, warning] = [errorProblem("QuotaExceeded", "full"), warningProblem("PortConflict", "taken")];
  expect(applicable(false, warning, undefined, error)).toEqual([warning, error]);
  expect([hasErrors([warning]), hasErrors([warning, error])]).toEqual([false, true]);
  expect(planError("QuotaExceeded", "full")).toEqual({ steps: [], problems: [error] });
});

test("publishes the existing addresses, and waits while no address exists", () => {
  const ips = ["192.0.2.1", null, undefined, "", "pending", "2001:db8::1"];
  expect(publishIPs(ips, "it")).toEqual({
    kind: "addresses",
    addresses: [{ ip: parseIp("192.0.2.1") }, { ip: parseIp("2001:db8::1") }],
  } as never);
  expect(publishIPs([null], "the balancer")).toEqual({ kind: "wait", waitingFor: "the balancer" });
});

test("optional members of a provider's results may be undefined", () => {
  const unknown = undefined as string | undefined;
  const instance: Instance = {
    key: "1",
    id: providerID("acme://1"),
    names: ["a"],
    title: "a",
    addresses: [],
    type: "",
    state: undefined,
    region: unknown,
    zone: unknown,
    labels: undefined,
    problems: undefined,
  };
  const destination = parseCidr("10.0.0.0/24");
  if (destination === undefined) throw new Error("It is a range.");
  const route: ObservedRoute = { handle: "1", destination, ownership: "marked", targetKey: unknown };
  const plan: Plan<Step> = { steps: [{ do: "make", on: unknown }], wait: undefined, problems: undefined };
  expect([instance.region, route.targetKey, plan.wait]).toEqual([undefined, undefined, undefined]);
});
