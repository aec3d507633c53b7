// The contract of a provider's instances: a listing is complete or an error; a lookup finds machines, finds none, or
// has no answer; each id belongs to one source; and reads change nothing.

import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { messageOf } from "../../core/error-message.ts";
import { parseIp } from "../../core/ip.ts";
import { CloudError } from "../../provider/errors.ts";
import type { Instance, InstanceSource, MatchKey } from "../../provider/instances.ts";
import { faultPositions, readFaultKinds } from "./faulty-transport.ts";
import { collect, failureOf, Lab } from "./lab.ts";
import { outagesConformance } from "./outages-conformance.ts";
import type { Harness } from "./simulated-cloud.ts";

const names = Array.from({ length: 7 }, (_, index) => `node-${index}`);

/** Runs the contract of `instances` and `outagesConformance` as bun tests. Call it at the top level of a test file. */
export function instancesConformance(name: string, harness: Harness): void {
  outagesConformance(name, harness);
  const fresh = (machines: readonly string[] = names) => {
    const lab = new Lab(harness);
    for (const machine of machines) lab.simulated.addMachine(machine);
    const { instances } = lab.cloud;
    if (instances === undefined) throw new Error(`${name} has no instances.`);
    return { lab, instances };
  };
  const listOf = (lab: Lab, source: InstanceSource): Promise<Instance[]> =>
    lab.list((call) => source.list(call));
  const listAll = async (lab: Lab, sources: readonly InstanceSource[]): Promise<Instance[]> => {
    const all: Instance[] = [];
    for (const source of sources) all.push(...(await listOf(lab, source)));
    return all;
  };
  const namesOf = (instances: readonly Instance[]) =>
    // A kubelet may also register with an address or with the id.
    instances
      .flatMap(({ key, names }) => names.filter((one) => parseIp(one) === undefined && one !== key))
      .toSorted();
  const nameLookups = (sources: readonly InstanceSource[]) =>
    sources.flatMap(({ lookups }) => lookups?.name ?? []);
  const findByName = async (lab: Lab, sources: readonly InstanceSource[], wanted: string) => {
    const found: Instance[] = [];
    for (const lookup of nameLookups(sources)) {
      found.push(...((await lab.run((call) => lookup.find([wanted], call))).get(wanted) ?? []));
    }
    return found;
  };

  describe(`${name}: instances`, () => {
    test("lists every machine once, with the expected number of requests", async () => {
      const { lab, instances } = fresh();
      const listed = await listAll(lab, instances.sources);
      expect(namesOf(listed)).toEqual(names);
      expect(new Set(listed.map(({ id }) => id)).size).toBe(names.length);
      expect(lab.requests.length).toBe(harness.listingRequests(names.length));
      expect(await listAll(lab, instances.sources)).toEqual(listed);
    });

    test("lists no machines in an empty cloud", async () => {
      const { lab, instances } = fresh([]);
      expect(await listAll(lab, instances.sources)).toEqual([]);
      expect(lab.requests.length).toBe(harness.listingRequests(0));
    });

    test("reads without changing the cloud or leaking abort listeners", async () => {
      const { lab, instances } = fresh();
      await listAll(lab, instances.sources);
      for (const one of names) await findByName(lab, instances.sources, one);
      expect([lab.mutations, lab.undeclaredMutations, lab.leakedListeners]).toEqual([0, [], 0]);
    });

    test("maps every provider id to exactly one source, which reads its key from the id", async () => {
      const { lab, instances } = fresh();
      const all = [...instances.sources, ...(instances.unreadable ?? [])];
      expect(new Set(all.map((source) => source.name)).size).toBe(all.length);
      for (const source of instances.sources) {
        for (const { id, key } of await listOf(lab, source)) {
          expect(source.keyOf(id)).toBe(key);
          expect(all.filter((other) => other.keyOf(id) !== undefined)).toEqual([source]);
          expect(harness.definition.schemes.some((scheme) => id.startsWith(scheme))).toBe(true);
        }
      }
    });

    test.each(["", "node-0", "other-cloud://1", ...harness.definition.schemes])(
      "finds no source for the provider id %p",
      (id) => {
        const { instances } = fresh();
        const all = [...instances.sources, ...(instances.unreadable ?? [])];
        expect(all.filter((source) => source.keyOf(id) !== undefined)).toEqual([]);
      },
    );

    test("finds every listed machine by lookup, and returns an empty list for an unknown one", async () => {
      const { lab, instances } = fresh();
      for (const source of instances.sources) {
        const listed = await listOf(lab, source);
        for (const [key, lookup] of Object.entries(source.lookups ?? {})) {
          if (lookup === undefined) continue;
          const keysOf = (instance: Instance): readonly string[] =>
            key === "id"
              ? [instance.key]
              : key === "name"
                ? instance.names
                : key === "shortName"
                  ? [instance.shortName ?? ""]
                  : key === "uuid"
                    ? (instance.uuids ?? [])
                    : instance.addresses.map(({ value }) => value);
          const wanted = listed.map(keysOf).flatMap((keys) => keys.slice(0, 1));
          for (let start = 0; start < wanted.length; start += lookup.limit) {
            const asked = wanted.slice(start, start + lookup.limit);
            const before = lab.requests.length;
            const found = await lab.run((call) => lookup.find(asked, call));
            expect(lab.requests.length - before).toBe(harness.lookupRequests ?? 1);
            for (const one of asked) {
              const wanted = listed.filter((instance) => keysOf(instance).includes(one));
              const answered = found.get(one) ?? [];
              // A lookup may return the state if the listing omits it.
              const asListed = answered.map(({ state, ...rest }, index) =>
                wanted[index]?.state === undefined ? rest : { ...rest, ...(state && { state }) },
              );
              expect(asListed as readonly Instance[]).toEqual(wanted);
            }
          }
          const unknown = harness.unknownKeys?.[key as MatchKey] ?? "404";
          expect((await lab.run((call) => lookup.find([unknown], call))).get(unknown)).toEqual([]);
        }
      }
    });

    test("returns no answer for a machine when its lookup request fails", async () => {
      for (const kind of readFaultKinds) {
        const { lab, instances } = fresh();
        for (const lookup of nameLookups(instances.sources)) {
          lab.faulty.failAt(0, kind);
          const found = await lab.run((call) => lookup.find(["node-0"], call)).catch(() => new Map());
          expect([...found.keys()]).toEqual([]);
        }
      }
    });

    test("returns every machine with an ambiguous name", async () => {
      if (harness.hasUniqueNames === true) return;
      const { lab, instances } = fresh([...names, "node-3"]);
      expect(instances.sources.filter(({ uniqueNames }) => uniqueNames === true)).toEqual([]);
      const listed = await listAll(lab, instances.sources);
      const twins = listed.filter((instance) => instance.names.includes("node-3"));
      expect(twins).toHaveLength(2);
      expect(new Set(twins.map(({ id }) => id)).size).toBe(2);
      if (nameLookups(instances.sources).length > 0) {
        const found = await findByName(lab, instances.sources, "node-3");
        expect(found.map(({ id }) => id).toSorted()).toEqual(twins.map(({ id }) => id).toSorted());
      }
    });

    test("distinguishes running, stopped and terminating machines, and omits removed ones", async () => {
      const { lab, instances } = fresh();
      lab.simulated.stopMachine?.("node-1");
      lab.simulated.terminateMachine?.("node-2");
      lab.simulated.removeMachine("node-3");
      const listed = await listAll(lab, instances.sources);
      const states = new Map(listed.map((instance) => [instance.names[0], instance.state]));
      for (const instance of listed.filter(({ state }) => state === undefined)) {
        const source = instances.sources.find(({ keyOf }) => keyOf(instance.id) !== undefined);
        // A listing may omit the state only if a lookup by id returns it.
        const found = await lab.run(async (call) => source?.lookups?.id?.find([instance.key], call));
        states.set(instance.names[0], found?.get(instance.key)?.[0]?.state);
      }
      expect(["node-0", "node-1", "node-2", "node-3"].map((one) => states.get(one))).toEqual([
        "running",
        lab.simulated.stopMachine === undefined ? "running" : "stopped",
        lab.simulated.terminateMachine === undefined ? "running" : "terminating",
        undefined,
      ]);
      expect(await findByName(lab, instances.sources, "node-3")).toEqual([]);
    });

    test.each(readFaultKinds)(
      "lists everything or throws, with a %p fault at every operation",
      async (kind) => {
        const clean = fresh();
        const all = new Map<string, readonly string[]>();
        for (const source of clean.instances.sources)
          all.set(source.name, namesOf(await listOf(clean.lab, source)));
        for (const position of faultPositions(clean.lab.requests, kind)) {
          const { lab, instances } = fresh();
          lab.faulty.failAt(position, kind);
          let failed = 0;
          for (const source of instances.sources) {
            try {
              expect(namesOf(await listOf(lab, source))).toEqual([...(all.get(source.name) ?? [])]);
            } catch (error) {
              failed++;
              // A deadline surfaces as the signal's reason; every other failure is a CloudError.
              if (kind !== "hang") expect(CloudError.is(error)).toBe(true);
            }
          }
          expect(failed).toBe(1);
          expect(lab.leakedListeners).toBe(0);
          expect(namesOf(await listAll(lab, instances.sources))).toEqual(names);
        }
      },
    );

    test("throws instead of returning an incomplete listing", async () => {
      const { lab, instances } = fresh();
      if (lab.simulated.shortenNextPage === undefined) return;
      lab.simulated.shortenNextPage();
      expect(await failureOf(listAll(lab, instances.sources))).toBeInstanceOf(CloudError);
    });

    test("stops when its signal is aborted, and sends nothing when it was already aborted", async () => {
      const { lab, instances } = fresh();
      for (const source of instances.sources) {
        const controller = new AbortController();
        const call = { signal: controller.signal, urgency: "refresh" } as const;
        lab.faulty.failAt(0, "hang");
        const listing = collect(source.list(call));
        setImmediate(() => controller.abort(new Error("leadership lost")));
        expect(messageOf(await failureOf(listing))).toContain("leadership lost");
        expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
        const before = lab.faulty.requests.length;
        expect(messageOf(await failureOf(collect(source.list(call))))).toContain("leadership lost");
        expect(lab.faulty.requests.length).toBe(before);
      }
    });
  });
}
