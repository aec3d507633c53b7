// Health pages as text: the text that upstream's tests require verbatim, and Fairlead's additions.

import { describe, expect, test } from "bun:test";
import { Health, type HealthPage, healthPages } from "../../src/server/health.ts";

const everywhere: readonly HealthPage[] = ["healthz", "livez", "readyz"];

const healthWith = (checks: Readonly<Record<string, string | undefined>>, pages = everywhere) => {
  const health = new Health();
  for (const [name, problem] of Object.entries(checks)) health.add({ name, pages, check: () => problem });
  return health;
};
const ask = async (health: Health, target: string) => {
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
    ['answers "ok" without any check', {}, "/healthz", 200, "ok"],
    [
      "lists ping when verbose and without any check",
      {},
      "/healthz?verbose",
      200,
      "[+]ping ok\nhealthz check passed\n",
    ],
    ['answers "ok" when the only check passes', { good: undefined }, "/healthz", 200, "ok"],
    [
      "lists a passing check when verbose",
      { good: undefined },
      "/healthz?verbose=true",
      200,
      "[+]good ok\nhealthz check passed\n",
    ],
    [
      "fails and lists all checks when one of two fails",
      { good: undefined, bad: "x" },
      "/healthz",
      500,
      broken,
    ],
    [
      "answers one of two checks by its path when it passes",
      { good: undefined, bad: "x" },
      "/healthz/good",
      200,
      "ok",
    ],
    [
      "answers one of two checks by its path when it fails",
      { good: undefined, bad: "x" },
      "/healthz/bad",
      500,
      "internal server error: x\n",
    ],
    [
      "passes when the failing check is excluded, and warns about an unknown exclusion",
      { bad: "x" },
      "/healthz?verbose&exclude=bad&exclude=no",
      200,
      '[+]bad excluded: ok\nwarn: some health checks cannot be excluded: no matches for "no"\nhealthz check passed\n',
    ],
  ];
  test.each(cases)("TestMutableHealthzHandler: %s", async (_, checks, target, status, body) => {
    expect(await ask(healthWith(checks), target)).toEqual({ status, body });
  });

  test("TestMutableHealthzHandler: a check that is added later applies until the check is removed", async () => {
    const health = healthWith({ foo: undefined });
    const remove = health.add({ name: "bad", pages: ["healthz"], check: () => "x" });
    expect((await ask(health, "/healthz")).status).toBe(500);
    remove();
    expect((await ask(health, "/healthz")).status).toBe(200);
  });
});

test("readyz fails while the cloud has not answered, and healthz and livez pass [F90]", async () => {
  const health = new Health();
  health.add({ name: "cloud", pages: ["readyz"], check: () => "the cloud has not answered yet" });
  expect((await ask(health, "/healthz")).status).toBe(200);
  expect((await ask(health, "/livez")).status).toBe(200);
  expect((await ask(health, "/readyz")).status).toBe(500);
  expect((await ask(health, "/readyz/cloud")).body).toContain("the cloud has not answered yet");
  expect((await ask(health, "/livez/cloud")).status).toBe(404);
});

test("a health check that throws counts as failed", async () => {
  const health = new Health();
  health.add({
    name: "odd",
    pages: ["livez"],
    check: () => {
      throw new Error("odd");
    },
  });
  expect((await ask(health, "/livez")).status).toBe(500);
});
