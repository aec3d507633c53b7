// The responses of each cloud to the read requests of its provider: one response of the simulator is mutated, and
// the provider returns a value or a CloudError.

import { harness as aws } from "../../../providers/aws/simulator/harness.ts";
import { harness as digitalocean } from "../../../providers/digitalocean/simulator/harness.ts";
import { harness as fake } from "../../../providers/fake/simulator/harness.ts";
import { harness as hetzner } from "../../../providers/hetzner/simulator/harness.ts";
import { harness as openstack } from "../../../providers/openstack/simulator/harness.ts";
import { harness as rancher } from "../../../providers/rancher/simulator/harness.ts";
import { UnexpectedError, withDeadlines } from "../../../src/cloud/call-deadlines.ts";
import { errorPolicies } from "../../../src/cloud/error-policies.ts";
import { routeTablesOf } from "../../../src/cloud/ideal-route-tables.ts";
import { Redaction } from "../../../src/core/redaction.ts";
import type { Call } from "../../../src/provider/call.ts";
import { CloudError } from "../../../src/provider/errors.ts";
import type { Instance } from "../../../src/provider/instances.ts";
import type { AnyCloud } from "../../../src/provider/provider.ts";
import type { VolumeDriver } from "../../../src/provider/volumes.ts";
import { converge } from "../../../src/testing/conformance/converge.ts";
import { convergeRoutes } from "../../../src/testing/conformance/converge-routes.ts";
import {
  balancerTargets,
  labWithTargets,
  makeDesired,
  routesTo,
} from "../../../src/testing/conformance/desired.ts";
import { collect, failureOf, type Lab } from "../../../src/testing/conformance/lab.ts";
import type { Harness } from "../../../src/testing/conformance/simulated-cloud.ts";
import { addMachines, Orchestrator } from "../../../src/testing/conformance/volume-orchestrator.ts";
import type { FuzzTarget } from "../target.ts";
import { answer } from "../tree.ts";

type Read = (cloud: AnyCloud, call: Call) => Promise<unknown>;

/** A response of the simulator, by its position among the responses to one read. */
interface Recorded {
  readonly read: Read;
  readonly at: number;
  readonly text: string;
  /** If unset, the status of the simulator's response. */
  readonly status?: number;
}

/** A provider with a simulated cloud that contains every kind of object, whose responses can be changed in transit. */
class FuzzedCloud {
  readonly #harness: Harness;
  readonly #refusal: string;
  readonly #lab: Lab;
  #onAnswer: (text: string) => { readonly text: string; readonly status?: number } = (text) => ({ text });
  #recorded: readonly Recorded[] | undefined;

  /** `refusal`: the body of an error. */
  constructor(harness: Harness, refusal: string) {
    this.#harness = harness;
    this.#refusal = refusal;
    this.#lab = labWithTargets({
      ...harness,
      simulate: (clock) => {
        const simulated = harness.simulate(clock);
        const { transport } = simulated;
        return Object.assign(simulated, {
          transport: async (...sent: Parameters<typeof transport>) => {
            const response = await transport(...sent);
            const { text, status = response.status } = this.#onAnswer(await response.text());
            return new Response(text || null, { status, headers: response.headers });
          },
        });
      },
    });
  }

  /** Each kind of response once. */
  async corpus(): Promise<readonly string[]> {
    this.#recorded ??= await this.#record();
    return this.#recorded.map(({ text }) => text);
  }

  /** Reads again, with this response instead of the recorded one. */
  async run(input: string, from: number): Promise<unknown> {
    const { read, at: place, ...changed } = this.#recorded?.[from] ?? raise();
    let at = 0;
    this.#onAnswer = (text) => (at++ === place ? { ...changed, text: input } : { text });
    if (changed.status === undefined) return this.#read(read);
    const failure = await failureOf(this.#read(read));
    if (!isExpected(failure)) throw failure;
    return undefined;
  }

  #read(read: Read): Promise<unknown> {
    const { clock } = this.#lab;
    const cloud = withDeadlines(this.#lab.connect(), {
      clock,
      onAbandoned: () => undefined,
      redaction: new Redaction(),
    });
    return this.#lab.run((call) => read(cloud, call));
  }

  async #record(): Promise<readonly Recorded[]> {
    const reads = await this.#prepare();
    const recorded: Recorded[] = [];
    for (const read of reads) {
      let at = 0;
      this.#onAnswer = (text) => {
        if (text !== "") recorded.push({ read, at, text });
        at += 1;
        return { text };
      };
      await this.#read(read);
      if (at > 0) recorded.push({ read, at: 0, text: this.#refusal, status: 422 });
    }
    const shapes = new Set<string>();
    return recorded.filter(({ text }) => {
      const shape = text.replaceAll(/\d+/g, "0");
      const isNew = !shapes.has(shape);
      shapes.add(shape);
      return isNew;
    });
  }

  async #prepare(): Promise<readonly Read[]> {
    const lab = this.#lab;
    const harness = this.#harness;
    const { instances, loadBalancers, routes, volumes } = lab.cloud;
    const reads: Read[] = [(cloud, call) => cloud.checkSettings?.(call) ?? Promise.resolve()];
    for (const [index, source] of (instances?.sources ?? []).entries()) {
      const [known] = (await lab.list((call) => source.list(call))) as readonly Instance[];
      reads.push(async (cloud, call) => {
        const { list, lookups = {} } = cloud.instances?.sources[index] ?? raise();
        const keys = { id: known?.key, name: known?.names[0], uuid: known?.uuids?.[0] } as const;
        const found = await Promise.all(
          (["id", "name", "uuid"] as const).map((by) => lookups[by]?.find([keys[by] ?? "x"], call)),
        );
        return [await collect(list(call)), found];
      });
    }
    if (loadBalancers !== undefined) {
      const desired = makeDesired(harness, { name: "web", targets: balancerTargets(harness) });
      await converge(lab, [desired]);
      reads.push(async (cloud, call) => {
        const parts = cloud.loadBalancers ?? raise();
        const found = (await collect(parts.list(call))).flat().find(({ ownership }) => ownership === "ours");
        const observed = parts.observe === undefined ? found : await parts.observe(desired, found, call);
        const prefetched = await parts.prefetch?.(parts.prefetchKey?.(desired) ?? "", call);
        if (observed === undefined) return prefetched;
        return [observed, prefetched, await parts.observeHealth?.(desired, observed, call)];
      });
    }
    if (routes !== undefined) {
      await convergeRoutes(lab, [routesTo(harness)("10.244.1.0/24", 1)]);
      reads.push((cloud, call) =>
        Promise.all(
          routeTablesOf(cloud.routes ?? raise(), lab.clock).map((table) => collect(table.list(call))),
        ),
      );
    }
    const driver: VolumeDriver | undefined = harness.definition.volumeDriver;
    if (volumes !== undefined && driver !== undefined) {
      const { id } = await new Orchestrator(lab, driver).create(
        "pvc-1",
        (await addMachines(lab, driver)).place,
      );
      reads.push(async (cloud, call) => {
        const parts = cloud.volumes ?? raise();
        const snapshots = parts.snapshots && (await collect(parts.snapshots.list(call)));
        return [await collect(parts.list(call)), await parts.get(id, call), snapshots];
      });
    }
    return reads;
  }
}

const raise = (): never => {
  throw new Error("The provider lost a part.");
};

const kinds = Object.keys(errorPolicies);

const isExpected = (error: unknown): boolean =>
  CloudError.is(error) ? kinds.includes(error.kind) : error instanceof UnexpectedError;

const cloudTarget = (name: string, harness: Harness, refusal: string): FuzzTarget => {
  const cloud = new FuzzedCloud(harness, refusal);
  return {
    name: `answers-${name}`,
    form: answer,
    corpus: () => cloud.corpus(),
    run: (input, from) => cloud.run(input, from),
    mayThrow: isExpected,
    // An entry of which nothing is left becomes a whole machine.
    growth: 300,
    cost: 10,
  };
};

/** Excludes vSphere, because each run would log in again, and vSphere limits unused logins. */
export const cloudTargets: readonly FuzzTarget[] = [
  cloudTarget("fake", fake, '{"error":{"code":"conflict","message":"busy"}}'),
  cloudTarget(
    "hetzner",
    hetzner,
    '{"error":{"code":"locked","message":"a","details":{"fields":[{"name":"n","messages":["m"]}]}}}',
  ),
  cloudTarget(
    "digitalocean",
    digitalocean,
    '{"id":"unprocessable_entity","message":"quota","request_id":"1"}',
  ),
  cloudTarget("openstack", openstack, '{"NeutronError":{"type":"OverQuota","message":"a","detail":""}}'),
  cloudTarget(
    "aws",
    aws,
    "<Response><Errors><Error><Code>DependencyViolation</Code><Message>a</Message></Error></Errors></Response>",
  ),
  cloudTarget(
    "rancher",
    rancher,
    '{"type":"error","status":422,"code":"NotUnique","message":"a","detail":null}',
  ),
];
