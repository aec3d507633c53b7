// The demo of `npm start`, in real time. It mostly waits, so its tests run concurrently, and it is at the top of `test`, so that it runs
// while there is other work.

import { expect, test } from "bun:test";
import { join } from "node:path";
import { cloudsWithBalancers, localClouds } from "../scripts/clouds/registry.ts";
import { Demo } from "../scripts/start/demo.ts";
import { demoSteps } from "../scripts/start/demo-steps.ts";
import { volumeSteps } from "../scripts/start/demo-volumes.ts";
import { openSandbox, type Sandbox } from "../scripts/start/sandbox.ts";
import { milliseconds } from "../src/core/brand.ts";
import { systemClock } from "../src/platform/clock.ts";
import { createLog } from "../src/telemetry/log.ts";
import { runsAllTests } from "../src/testing/breadth.ts";

type LocalCloud = (typeof localClouds)[number];

/** Each cloud with its name; only the first one in a short run. */
const named = (clouds: readonly LocalCloud[]) =>
  (runsAllTests ? clouds : clouds.slice(0, 1)).map((definition) => [definition.name, definition] as const);

/** Asks until the condition holds; the timeout of the test ends it otherwise. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await Bun.sleep(20);
};

const inSandbox = async (
  definition: LocalCloud,
  observe: (sandbox: Sandbox) => Promise<void>,
): Promise<void> => {
  const stop = new AbortController();
  const log = createLog({ format: "text", verbosity: 0, clock: systemClock, write: () => undefined });
  const sandbox = await openSandbox({
    definition,
    nodes: 1,
    cloudLatency: milliseconds(0),
    faults: false,
    port: 0,
    log,
    signal: stop.signal,
  });
  try {
    await observe(sandbox);
  } finally {
    stop.abort(new Error("The test ended."));
    await sandbox.ended;
  }
};

const hasProviderId = ({ manager }: Sandbox) => manager.nodes.get("node-1")?.spec.providerID !== undefined;

test.concurrent.each(named(localClouds))(
  "the demo settles in the simulated cloud %s, even if variables for a real cloud are set",
  async (name, { provider: { config, volumeDriver }, hasNoBalancers }) => {
    const script = join(import.meta.dir, "../scripts/start.ts");
    const variables = Object.values(config).flatMap(({ env }) => (env === undefined ? [] : [env]));
    const child = Bun.spawn([process.execPath, script, "--until-settled", "--nodes", "2", "--cloud", name], {
      stdout: "pipe",
      stderr: "inherit",
      // A variable that every program reads, such as HOME, keeps its value.
      env: { ...Object.fromEntries(variables.map((variable) => [variable, "real"])), ...process.env },
    });
    const output = await new Response(child.stdout).text();
    const withoutVolumes = hasNoBalancers === true ? "step 1 of 1: done" : "step 3 of 3: done";
    const last = volumeDriver === undefined ? withoutVolumes : "step 6 of 6: done: ";
    expect(output).toContain(last);
    expect(output).toMatch(/settled: all steps are done after \d+ cloud requests/);
    expect(await child.exited).toBe(0);
  },
);

test.concurrent("the sandbox shows the manager's state on a page, only under its own address, and prints where its cluster and cloud are [F91]", () =>
  inSandbox(localClouds[0] as LocalCloud, async (sandbox) => {
    const { cloud, statusURL, variables, variablesFile } = sandbox;
    const script = `. ${variablesFile}; echo "$KUBECONFIG $FAKE_ENDPOINT $FAKE_TOKEN"`;
    const { stdout } = Bun.spawnSync(["sh", "-c", script], { env: {} });
    expect(stdout.toString()).toBe(`${variables["KUBECONFIG"]} ${cloud.url} ${cloud.settings["token"]}\n`);
    await until(() => hasProviderId(sandbox));
    const answer = await fetch(statusURL);
    expect(answer.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(await answer.text()).toMatch(/rowheader" class="text">node-1</);
    const statuses = [
      fetch(statusURL, { headers: { host: "attacker.example" } }),
      fetch(statusURL.replace("/status", "/debug/state")),
      fetch(statusURL, { method: "POST" }),
    ].map(async (response) => (await response).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 405]);
  }));

test.concurrent.each(named(cloudsWithBalancers))(
  "the sandbox of %s shows the load balancers of the cloud, and its routes if the cloud has routes",
  (_, definition) =>
    inSandbox(definition, async (sandbox) => {
      const { cloud, manager } = sandbox;
      expect(cloud.routeCount?.() ?? 0).toBe(0);
      for (const step of demoSteps(sandbox, 1).slice(0, 2)) {
        step.start();
        await until(() => step.waitingFor() === undefined);
      }
      await until(() => cloud.routeCount === undefined || cloud.routeCount() === 1);
      const { uid = "" } = manager.services.get("default/shop")?.metadata ?? {};
      expect(cloud.hasLoadBalancerOf?.(uid, "default/shop")).toBe(true);
      expect(cloud.hasLoadBalancerOf?.("another", "default/another")).toBe(false);
    }),
);

test.concurrent.each(named(localClouds.filter(({ provider }) => provider.volumeDriver !== undefined)))(
  "the demo of %s turns a claim into a file in a mounted volume [S10]",
  (_, definition) =>
    inSandbox(definition, async (sandbox) => {
      const lines: string[] = [];
      await until(() => hasProviderId(sandbox));
      const demo = new Demo({
        steps: volumeSteps(sandbox),
        elapsed: () => performance.now(),
        pause: 0,
        report: (text) => lines.push(text),
      });
      await until(() => {
        demo.tick();
        return demo.isDone;
      });
      expect(lines.at(-1)).toMatch(/^step 3 of 3: done: .*\/pod\/hello: "written by a pod" \(volume .+\)$/);
    }),
);

test("the demo of a cloud without volumes has no steps about them", () => {
  expect(volumeSteps({ driver: undefined } as never)).toEqual([]);
});
