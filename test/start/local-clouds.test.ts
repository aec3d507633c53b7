// What every simulated cloud of `npm start` and `npm run cloud` provides.

import { describe, expect, test } from "bun:test";
import type { LocalCloudDefinition } from "../../scripts/clouds/local-cloud.ts";
import { localClouds } from "../../scripts/clouds/registry.ts";
import { configProblems } from "../../src/app/configuration/cloud-settings.ts";
import { milliseconds } from "../../src/core/brand.ts";
import { systemClock } from "../../src/platform/clock.ts";

const open = ({ open, defaultRequestsPerHour, exampleToken }: LocalCloudDefinition) =>
  open({
    clock: systemClock,
    port: 0,
    latency: milliseconds(0),
    actionTime: milliseconds(0),
    requestsPerHour: defaultRequestsPerHour ?? 0,
    token: exampleToken,
  });

test("the simulated clouds have different names and default ports", () => {
  expect(new Set(localClouds.map(({ name }) => name)).size).toBe(localClouds.length);
  expect(new Set(localClouds.map(({ defaultPort }) => defaultPort)).size).toBe(localClouds.length);
});

describe.each(localClouds.map((definition) => [definition.name, definition] as const))(
  "the simulated cloud %s",
  (_, definition) => {
    test("a simulated cloud has settings that its provider accepts without a warning", async () => {
      await using cloud = open(definition);
      const given = new Map(Object.entries({ ...cloud.settings, ...definition.demoSettings }));
      expect(configProblems(definition.provider, { environment: {}, given })).toEqual([]);
    });

    test("a simulated cloud has a variable for each of its settings", async () => {
      await using cloud = open(definition);
      for (const name of Object.keys(cloud.settings)) {
        expect(definition.provider.config[name]?.env).toMatch(/^[A-Z_]+$/);
      }
    });

    test("a simulated cloud adds, stops, resizes and removes machines", async () => {
      await using cloud = open(definition);
      cloud.addMachine("a");
      cloud.addMachine("b");
      cloud.stop("a");
      cloud.resize("b", cloud.largerType);
      expect(cloud.machineState("a")).not.toBe("running");
      expect(cloud.machines()).toEqual([
        { name: "a", state: cloud.machineState("a") ?? "" },
        { name: "b", state: "running" },
      ]);
      cloud.remove("a");
      expect(cloud.machineState("a")).toBeUndefined();
      expect(cloud.machines()).toEqual([{ name: "b", state: "running" }]);
    });

    test("a simulated cloud counts requests, and can fail a request", async () => {
      await using cloud = open(definition);
      const { endpoint, url = cloud.url, token } = cloud.settings;
      const ask = async () => {
        const response = await fetch(`${endpoint ?? url}/load_balancers`, {
          headers: { authorization: `Bearer ${token}` },
        });
        return response.status;
      };
      const without = await ask();
      cloud.addFault({ status: 429, after: 1 });
      cloud.addFault({ after: 2 });
      expect([await ask(), await ask(), await ask(), await ask()]).toEqual([without, 429, 502, without]);
      expect(cloud.api.seen).toHaveLength(5);
    });

    test("a simulated cloud closes its port when it is disposed of", async () => {
      const cloud = open(definition);
      await fetch(cloud.url);
      await cloud[Symbol.asyncDispose]();
      expect(fetch(cloud.url)).rejects.toThrow();
    });
  },
);
