// Reasons of problems that a provider reports: declared ones reach the framework, others are replaced and logged once, and the
// objects of a provider work as before, also if they are instances of classes.

import { expect, test } from "bun:test";
import { withDeclaredReasons } from "../../src/cloud/declared-reasons.ts";
import { cidr } from "../../src/core/cidr.ts";
import { declareReasons, type Instance, type Problem, providerID, type RoutePage } from "../../src/index.ts";
import type { OwnReason } from "../../src/provider/reasons.ts";
import { tablesOf } from "../../src/provider/route-tables.ts";
import { collect } from "../../src/testing/conformance/lab.ts";

const reasons = declareReasons({ CertificateExpired: "The certificate has expired. Renew it." });
const problemOf = (reason: Problem["reason"]): Problem => ({ severity: "error", reason, text: "why" });
const own = problemOf(reasons.CertificateExpired);
const common = problemOf("PortConflict");
const undeclared = problemOf("Whatever" as string as OwnReason);

const instance = (problems?: readonly Problem[]): Instance => ({
  key: "1",
  id: providerID("acme://1"),
  names: ["a"],
  title: "a",
  addresses: [],
  type: "",
  ...(problems && { problems }),
});

/** State in a private member, as a provider may have. */
class Source {
  readonly name = "machines";
  #lists = 0;
  keyOf = (id: string): string => `${id}-${this.#lists}`;
  readonly lookups = {
    id: { limit: 2, find: async () => new Map([["1", [instance([undeclared])]]]) },
  };
  async *list() {
    this.#lists += 1;
    yield [instance(), instance([own, undeclared])];
  }
}

class Balancers {
  #plans = 0;
  async *list() {}
  plan() {
    this.#plans += 1;
    return { steps: [], problems: [own, common, undeclared, undeclared] };
  }
  apply = async () => ({ done: true }) as const;
  publish = () => ({ kind: "wait", waitingFor: String(this.#plans) }) as const;
}

const page: RoutePage = {
  routes: [{ handle: "1", destination: cidr("10.0.0.0/24"), ownership: "marked", problems: [undeclared] }],
  problems: [undeclared],
};
const call = { signal: new AbortController().signal, urgency: "refresh" } as const;

const connected = () => {
  const logged: string[] = [];
  const cloud = withDeclaredReasons(
    {
      instances: { sources: [new Source()], matchBy: ["name"] },
      loadBalancers: new Balancers(),
      routes: {
        style: "document",
        families: [],
        read: async () => ({ ...page, revision: "1" }),
        change: async () => ({ done: true }),
      },
    },
    reasons,
    { onUndeclared: (reason) => logged.push(reason), redact: (text) => text },
  );
  return { cloud, logged };
};
const reasonsIn = (problems: readonly { reason: string }[] | undefined) =>
  problems?.map(({ reason }) => reason);

test("withDeclaredReasons replaces an undeclared reason wherever a provider reports problems, and logs it once", async () => {
  const { cloud, logged } = connected();
  const { problems } = cloud.loadBalancers?.plan(undefined, undefined, {} as never) ?? {};
  const generic = "ProviderProblem";
  expect(reasonsIn(problems)).toEqual(["CertificateExpired", "PortConflict", generic, generic]);
  const [source] = cloud.instances?.sources ?? [];
  const [listed] = source === undefined ? [] : await collect(source.list(call));
  expect(listed?.map((one) => reasonsIn(one.problems))).toEqual([undefined, ["CertificateExpired", generic]]);
  const found = await source?.lookups?.id?.find(["1"], call);
  expect(found?.get("1")?.map((one) => reasonsIn(one.problems))).toEqual([[generic]]);
  const [table] = cloud.routes === undefined ? [] : tablesOf(cloud.routes);
  const document = table?.routes.style === "document" ? await table.routes.read(call) : undefined;
  expect([
    reasonsIn(document?.problems),
    reasonsIn(document?.routes[0]?.problems),
    document?.revision,
  ]).toEqual([[generic], [generic], "1"]);
  expect(logged).toEqual(["Whatever"]);
});

test("withDeclaredReasons keeps the state of providers that are instances of classes", async () => {
  const { cloud } = connected();
  const { loadBalancers, instances } = cloud;
  loadBalancers?.plan(undefined, undefined, {} as never);
  expect(loadBalancers?.publish({} as never, undefined)).toEqual({ kind: "wait", waitingFor: "1" });
  const [source] = instances?.sources ?? [];
  if (source === undefined) throw new Error("There is no source.");
  await collect(source.list(call));
  expect(source.keyOf("x")).toBe("x-1");
});

test("withDeclaredReasons passes on what has no undeclared reason without copying it", () => {
  const plan = { steps: [], problems: [own] };
  const plain = { ...new Balancers(), list: async function* () {}, plan: () => plan };
  const unexpected = { onUndeclared: () => expect.unreachable(), redact: (text: string) => text };
  const cloud = withDeclaredReasons({ loadBalancers: plain }, reasons, unexpected);
  expect(cloud.loadBalancers?.plan(undefined, undefined, {} as never)).toBe(plan);
});

test.each(["certificateExpired", "Certificate expired", "PortConflict", "ProviderProblem", ""])(
  "declareReasons refuses the reason %p",
  (name) => {
    expect(() => declareReasons({ [name]: "Why." })).toThrow(name);
  },
);

test("the compiler refuses a reason that is neither common nor declared", () => {
  // @ts-expect-error: the literal is not declared.
  const wrong: Problem = { severity: "error", reason: "CertificateExpird", text: "why" };
  // @ts-expect-error: the table has no such name.
  const missing: unknown = reasons.CertificateExpird;
  expect([wrong.reason as string, missing]).toEqual(["CertificateExpird", undefined]);
});
