// No part of a secret leaves the process in any way, whatever a provider writes into its messages and wherever it truncates them.

import { expect, test } from "bun:test";
import { createHash } from "node:crypto";
import fc from "fast-check";
import { CloudError, type Routes } from "#ccm";
import { fake } from "../../providers/fake/index.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { runsAllTests } from "../../src/testing/breadth.ts";
import { runCommandIn } from "../support/command-world.ts";
import { ReloadingProcess } from "../support/reloading-process.ts";
import { ServiceWorld } from "../support/service-world.ts";

const forms = {
  plain: (token: string) => token,
  base64: (token: string) => btoa(`user:${token}`),
  url: (token: string) => encodeURIComponent(token),
  json: (token: string) => JSON.stringify({ authorization: `Bearer ${token}` }),
};
type Form = keyof typeof forms;

interface Leak {
  readonly token: string;
  readonly form: Form;
  /** How many characters of the message are kept. */
  readonly cut: number;
}

const messageOf = ({ token, form, cut }: Leak): string =>
  `the cloud says that this is wrong: ${forms[form](token)}, and so on`.slice(0, cut);

/** Puts the truncated token into each text that a provider can return or throw. */
function leakyProvider(leak: Leak): AnyProvider {
  const provider = fake as unknown as AnyProvider;
  const problem = { severity: "warning", reason: "AmbiguousMatch", text: messageOf(leak) } as never;
  const fail = async (): Promise<never> => {
    throw new CloudError("invalid", messageOf(leak), { operation: "POST /balancers" });
  };
  return {
    ...provider,
    connect: (settings, context) => {
      const cloud = provider.connect(settings, context);
      const { loadBalancers, instances, routes } = cloud;
      if (!loadBalancers || !instances || !routes || Array.isArray(routes)) return cloud;
      const [source] = instances.sources;
      async function* list(call: Parameters<typeof source.list>[0]) {
        for await (const page of source.list(call))
          yield page.map((instance) => ({ ...instance, problems: [problem] }));
      }
      return {
        ...cloud,
        instances: { ...instances, sources: [{ ...source, list }] },
        loadBalancers: {
          ...loadBalancers,
          plan: (...args) => {
            const plan = loadBalancers.plan(...args);
            return { ...plan, problems: [...(plan.problems ?? []), problem] };
          },
          apply: fail,
        },
        routes: { ...(routes as Routes), create: fail } as Routes,
      };
    },
  };
}

const pages = [
  ...["/status", "/debug/state", "/debug/explain", "/debug/explain?all=true", "/metrics", "/metrics/slis"],
  ...["/configz", "/flagz", "/statusz", "/healthz?verbose", "/readyz?verbose", "/"],
];

const commands = [["explain"], ["explain", "--all"], ["plan"], ["support-bundle", "--file=b.tar.gz"]];

/** Everything that a process with this provider writes, sends and shows. */
async function outputs(leak: Leak): Promise<readonly string[]> {
  const { token } = leak;
  const environment = { FAKE_TOKEN: token };
  const provider = leakyProvider(leak);
  const world = new ServiceWorld();
  const found: string[] = [];
  world.create("shop");
  const process = new ReloadingProcess({
    world,
    contents: {},
    args: [
      ...["--authorization-always-allow-paths=/*", "--tracing-endpoint=http://collector:4318", "--v=5"],
      ...["--cluster-cidr=10.244.0.0/16", "--tracing-sampling-rate-per-million=1000000"],
    ],
    provider,
    environment,
  });
  await process.untilLeading();
  await world.pass(30);
  for (const page of pages) found.push(`${page}: ${await process.page(page)}`);
  found.push(...process.lines, ...process.bodies, ...world.events("shop"), JSON.stringify(world.get("shop")));
  for (const words of commands) {
    const { out, err, written } = await runCommandIn(world, [...words, "--master=http://test-api-server"], {
      provider,
      environment,
    });
    found.push(out, err, ...[...written.values()].map(({ content }) => unpacked(content)));
  }
  await process.end();
  await world.stop();
  return found;
}

const unpacked = (content: Uint8Array): string =>
  new TextDecoder().decode(Bun.gunzipSync(Uint8Array.from(content)));

/** Every part of the token with 8 characters, in this encoding. */
function partsOf({ token, form }: Leak): readonly string[] {
  const text = form === "base64" ? btoa(`user:${token}`).slice(8) : token;
  return Array.from({ length: text.length - 7 }, (_, at) => text.slice(at, at + 8));
}

/** As random as a real token, even after fast-check has made it as small as possible. */
const token = fc.nat().map((seed) =>
  createHash("sha512")
    .update(String(seed))
    .digest("base64")
    .slice(0, 32 + (seed % 33)),
);
const leaks: fc.Arbitrary<Leak> = fc.record({
  token,
  form: fc.constantFrom<Form>("plain", "base64", "url", "json"),
  cut: fc.integer({ min: 75, max: 150 }),
});

test("leaks no part of a secret in anything that a process writes, sends or shows", async () => {
  await fc.assert(
    fc.asyncProperty(leaks, async (leak) => {
      const texts = await outputs(leak);
      expect(texts.filter((text) => text.includes("[secret]")).length).toBeGreaterThan(5);
      const parts = partsOf(leak);
      expect(texts.filter((text) => parts.some((part) => text.includes(part)))).toEqual([]);
    }),
    { numRuns: runsAllTests ? 60 : 6 },
  );
});
