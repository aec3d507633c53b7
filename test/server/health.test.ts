// Health as text: word for word what upstream's tests pin, and what ours adds.

import { describe, expect, test } from "bun:test";
import { createHealth, type HealthPage } from "../../src/server/health.ts";
import { healthPages } from "../../src/server/health-pages.ts";

const everywhere: readonly HealthPage[] = ["healthz", "livez", "readyz"];

const healthWith = (checks: Readonly<Record<string, string | undefined>>, pages = everywhere) => {
  const health = createHealth();
  for (const [name, problem] of Object.entries(checks)) health.add({ name, pages, check: () => problem });
  return health;
};
const ask = async (health: ReturnType<typeof createHealth>, target: string) => {
  const [path = "", query = ""] = target.split("?");
  const pages = healthPages(health);
  const page = pages[path] ?? pages[`${path.slice(0, path.lastIndexOf("/"))}/`];
  const read = { method: "GET", path, query: new URLSearchParams(query), headers: [], body: async () => "" };
  const { status, body } = (await page?.(read)) ?? { status: 0, body: "" };
  return { status, body };
};

describe("health pages", () => {
  const broken = "[+]good ok\n[-]bad failed: reason withheld\nhealthz check failed\n";
  const cases: readonly (readonly [string, Record<string, string | undefined>, string, number, string])[] = [
    ["none", {}, "/healthz", 200, "ok"],
    ["none, verbose", {}, "/healthz?verbose", 200, "[+]ping ok\nhealthz check passed\n"],
    ["good", { good: undefined }, "/healthz", 200, "ok"],
    [
      "good, verbose",
      { good: undefined },
      "/healthz?verbose=true",
      200,
      "[+]good ok\nhealthz check passed\n",
    ],
    ["good and bad", { good: undefined, bad: "x" }, "/healthz", 500, broken],
    ["one of two", { good: undefined, bad: "x" }, "/healthz/good", 200, "ok"],
    ["the bad of two", { good: undefined, bad: "x" }, "/healthz/bad", 500, "internal server error: x\n"],
    [
      "bad, excluded",
      { bad: "x" },
      "/healthz?verbose&exclude=bad&exclude=no",
      200,
      '[+]bad excluded: ok\nwarn: some health checks cannot be excluded: no matches for "no"\nhealthz check passed\n',
    ],
  ];
  test.each(cases)("TestMutableHealthzHandler: %s", async (_, checks, target, status, body) => {
    expect(await ask(healthWith(checks), target)).toEqual({ status, body });
  });

  test("a check that is added later counts from then on, until it is removed", async () => {
    const health = healthWith({ foo: undefined });
    const remove = health.add({ name: "bad", pages: ["healthz"], check: () => "x" });
    expect((await ask(health, "/healthz")).status).toBe(500);
    remove();
    expect((await ask(health, "/healthz")).status).toBe(200);
  });
});

test("alive, ready and healthy are three questions [F90]", async () => {
  const health = createHealth();
  health.add({ name: "cloud", pages: ["readyz"], check: () => "the cloud has not answered yet" });
  expect((await ask(health, "/healthz")).status).toBe(200);
  expect((await ask(health, "/livez")).status).toBe(200);
  expect((await ask(health, "/readyz")).status).toBe(500);
  expect((await ask(health, "/readyz/cloud")).body).toContain("the cloud has not answered yet");
  expect((await ask(health, "/livez/cloud")).status).toBe(404);
});

test("a check that throws is a failed check", async () => {
  const health = createHealth();
  health.add({
    name: "odd",
    pages: ["livez"],
    check: () => {
      throw new Error("odd");
    },
  });
  expect((await ask(health, "/livez")).status).toBe(500);
});
