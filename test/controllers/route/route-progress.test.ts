import { expect, test } from "bun:test";
import { seconds } from "../../../src/core/brand.ts";
import { inProgress } from "../../../src/kit/outcomes.ts";
import { type Random, seededRandom } from "../../../src/platform/random.ts";
import type { Pending } from "../../../src/provider/plan.ts";
import type { Routes } from "../../../src/provider/routes.ts";
import { VirtualClock } from "../../../src/testing/virtual-time/virtual-clock.ts";
import { RouteWorld } from "./route-world.ts";
import { refusal, ScriptedRoutes } from "./scripted-routes.ts";

const seeds = Array.from({ length: 15 }, (_, index) => index + 1);
const nodes = 10;

/** A quarter of all requests fail. */
const maybeFail = (random: Random, onFailure: () => void = () => undefined): void => {
  if (random.fraction() >= 0.25) return;
  onFailure();
  throw refusal("unavailable", "503");
};

/** Each creation is an operation, which is checked separately and ends when it is checked. */
class FlakyOperations implements Pending {
  readonly limit = 1;
  readonly #random: Random;
  readonly #running = new Map<string, () => Promise<unknown>>();

  constructor(random: Random) {
    this.#random = random;
  }

  start(operation: string, work: () => Promise<unknown>) {
    this.#running.set(operation, work);
    return inProgress("the route", { operation });
  }

  async check(ids: readonly string[]) {
    maybeFail(this.#random);
    for (const id of ids) await this.#running.get(id)?.();
    return new Map(ids.map((id) => [id, { done: true } as const]));
  }
}

const flaky = (
  random: Random,
  inner: Routes,
  operations: FlakyOperations | undefined,
  onFailure: (route: string) => void,
): Routes => {
  if (inner.style === "document") {
    const change: typeof inner.change = async (...given) => {
      maybeFail(random, () => onFailure("the document"));
      return inner.change(...given);
    };
    return { ...inner, change };
  }
  const create: typeof inner.create = async (route, call) => {
    maybeFail(random, () => onFailure(route.destination));
    const work = () => inner.create(route, call);
    return operations?.start(route.destination, work) ?? work();
  };
  return { ...inner, create };
};

interface Progress {
  /** The number of seconds that the routes of ten Nodes take. */
  readonly took: number;
  /** The maximum number of failures for the creation of one route. */
  readonly failures: number;
}

const converge = async (seed: number, style: Routes["style"], isLong: boolean): Promise<Progress> => {
  const random = seededRandom(seed);
  const table = new ScriptedRoutes(new VirtualClock(), { style });
  const operations = isLong ? new FlakyOperations(random) : undefined;
  const failures = new Map<string, number>();
  const onFailure = (route: string) => failures.set(route, (failures.get(route) ?? 0) + 1);
  const w = new RouteWorld({
    routes: () => flaky(random, table.routes, operations, onFailure),
    ...(operations !== undefined && { pending: operations }),
  });
  for (let index = 0; index < nodes; index += 1) w.add(`n${index}`, `10.244.${index}.0/24`);
  w.start();
  await w.clock.until(() => table.table.length === nodes, seconds(7200), "all routes");
  await w.stop();
  expect(w.held).toEqual([]);
  return { took: Math.ceil(w.clock.monotonic() / 1000), failures: Math.max(0, ...failures.values()) };
};

test.each([
  ["are created one by one", "one-by-one", false],
  ["are created by long operations", "one-by-one", true],
  ["are one document", "document", false],
] as const)(
  "routes that %s exist half a minute after the proof that the last failed creation had no effect [F59]",
  async (_, style, isLong) => {
    for (const seed of seeds) {
      const { took, failures } = await converge(seed, style, isLong);
      // Each failure may have had an effect, and the proof takes 30 s.
      expect({ seed, isInTime: took <= 30 + 30 * failures, took }).toEqual({ seed, isInTime: true, took });
    }
  },
);
