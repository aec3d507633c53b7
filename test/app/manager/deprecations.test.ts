// Announcements of the cloud and the API server on all surfaces of a whole manager.

import { afterEach, expect, test } from "bun:test";
import { statusPage } from "../../../src/inspect/status/status-page.ts";
import { ServiceWorld } from "../../support/service-world.ts";

let world: ServiceWorld | undefined;
afterEach(() => world?.stop());

const metricsOf = (w: ServiceWorld) =>
  w.manager.metrics
    .text()
    .split("\n")
    .filter((line) => line.startsWith("fairlead_deprecations{"))
    .toSorted();

test("reports deprecations that the cloud and the API server announce as one event, one metric and one line of /status [N21]", async () => {
  const w = new ServiceWorld();
  world = w;
  w.cloud.announced = { deprecation: "@1767225600", sunset: "Fri, 01 Jan 2027 00:00:00 GMT" };
  w.server.announced = { warning: '299 - "a field of Services is deprecated"' };
  await w.start("--leader-elect=true");
  await w.pass(90);
  const events = w.server.store
    .list("events", "kube-system")
    .flatMap((event) => (event["reason"] === "DeprecationAnnounced" ? String(event["message"]) : []));
  expect(events).toEqual([expect.stringContaining("cloud: GET /balancers is deprecated since 2026-01-01")]);
  expect(events.join()).toContain("API server, to watch services: a field of Services is deprecated");
  expect(w.logged.filter((line) => line.includes("DeprecationAnnounced"))).toHaveLength(1);
  expect(metricsOf(w).map((line) => line.split(" ")[0])).toEqual([
    'fairlead_deprecations{api="cloud",what="operation"}',
    'fairlead_deprecations{api="kubernetes",what="warning"}',
  ]);
  const page = statusPage({ manager: w.manager, program: "fake-cloud-controller-manager", clock: w.clock });
  const request = { method: "GET", path: "/status", query: new URLSearchParams(), headers: [] };
  const { body } = await page({ ...request, body: async () => "" });
  expect(String(body)).toContain("<strong>Deprecated:</strong>");
  await w.pass(3600);
  expect(w.logged.filter((line) => line.includes("DeprecationAnnounced"))).toHaveLength(1);
});

test("deprecation announcements change nothing in a settled cluster, and expire a day after the last announcement [N21]", async () => {
  const w = new ServiceWorld();
  world = w;
  await w.start();
  w.create("web");
  await w.pass(60);
  w.forget();
  w.cloud.announced = { warning: '299 - "an older version"' };
  await w.pass(3600);
  const withAnnouncements = w.asked.length;
  expect([w.written, w.changes, metricsOf(w).length]).toEqual([[], [], 1]);
  w.cloud.announced = {};
  w.forget();
  await w.pass(3600);
  expect(Math.abs(w.asked.length - withAnnouncements)).toBeLessThanOrEqual(1);
  await w.pass(25 * 3600);
  expect(metricsOf(w)).toEqual([]);
});
