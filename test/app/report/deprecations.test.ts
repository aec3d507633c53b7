import { describe, expect, test } from "bun:test";
import { announcedProblem, Deprecations } from "../../../src/app/report/deprecations.ts";
import { minutes } from "../../../src/core/brand.ts";
import { messageIn } from "../../../src/core/problem.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";

describe("deprecation announcements of servers", () => {
  const known = () => {
    const clock = new VirtualClock();
    return { clock, all: new Deprecations(clock) };
  };

  test("stores a repeated announcement once, with its first text [N21]", () => {
    const { all } = known();
    for (const text of ["paused", "resting"])
      all.note("cloud", { what: "value", name: "server.status", text });
    all.note("kubernetes", { what: "warning", name: "patch services", text: "old" });
    expect(all.all).toEqual([
      { api: "cloud", what: "value", text: 'cloud: server.status has the unknown value "paused"' },
      { api: "kubernetes", what: "warning", text: "API server, to patch services: old" },
    ]);
  });

  test("forgets a deprecation announcement one day after its last occurrence [N21]", async () => {
    const { clock, all } = known();
    const found = { what: "type", name: "server type cx11", text: "" } as const;
    all.note("cloud", found);
    await clock.advance(minutes(23 * 60));
    all.note("cloud", found);
    await clock.advance(minutes(23 * 60));
    expect(all.all).toHaveLength(1);
    await clock.advance(minutes(2 * 60));
    expect(all.all).toEqual([]);
  });

  test("limits the number and size of deprecation announcements, whatever a cloud sends [N21]", () => {
    const { all } = known();
    for (let index = 0; index < 5000; index += 1)
      all.note("cloud", {
        what: "type",
        name: `${index} ${"n".repeat(10_000)}`,
        text: "t\u001b".repeat(10_000),
      });
    expect(all.all).toHaveLength(100);
    const { text = "" } = announcedProblem(all.all) ?? {};
    expect([text.length < 1000, text.includes("\u001b")]).toEqual([true, false]);
  });

  test("combines announcements into one problem with the consequence and the remedy [N21]", () => {
    const { all } = known();
    expect(announcedProblem(all.all)).toBeUndefined();
    all.note("cloud", { what: "type", name: "server type cx11", text: "unavailable after 2027-01-01" });
    all.note("cloud", { what: "operation", name: "GET /servers", text: "deprecated since 2026-01-01" });
    const problem = announcedProblem(all.all);
    expect(problem && messageIn(problem)).toStartWith(
      "2 announcements of the cloud and the API server: cloud: GET /servers is deprecated since 2026-01-01, cloud: the server type cx11 in use is deprecated, unavailable after 2027-01-01. Everything works as before until then.",
    );
  });
});
