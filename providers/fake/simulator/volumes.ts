// The volumes of the simulated cloud. A change takes time and is visible only when it has ended; until then, the volume rejects
// other changes.

import type { Milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { Refusal } from "./answer.ts";
import type { Machines } from "./machines.ts";

export interface SimulatedVolume {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "available" | "changing";
  readonly tier: string;
  /** The size in GiB. */
  readonly size: number;
  readonly zone: string;
  readonly machine: string | null;
  /** Data on the volume. */
  readonly data: string;
}

type VolumeSpec = Partial<Omit<SimulatedVolume, "id" | "status">>;

interface Stored {
  readonly volume: Omit<SimulatedVolume, "status">;
  readonly change: VolumeSpec;
  readonly busyUntil: number;
}

export const perMachine = 8;

export class FakeVolumes {
  readonly #clock: Clock;
  readonly #machines: Machines;
  readonly #byID = new Map<string, Stored>();
  #next = 1;
  actionTime: Milliseconds;

  constructor(clock: Clock, machines: Machines, actionTime: Milliseconds) {
    this.#clock = clock;
    this.#machines = machines;
    this.actionTime = actionTime;
  }

  list(): readonly SimulatedVolume[] {
    return [...this.#byID.keys()].map((id) => this.get(id));
  }

  /** The volumes after all pending changes have ended. */
  outcome(): readonly SimulatedVolume[] {
    return [...this.#byID.keys()].map((id) => this.get(id, Number.POSITIVE_INFINITY));
  }

  get(id: string, at = this.#clock.monotonic()): SimulatedVolume {
    const stored = this.#byID.get(id);
    if (stored === undefined) throw new Refusal(404, "not_found", `volume ${id} not found`);
    const isBusy = at < stored.busyUntil;
    const { machine, ...volume } = { ...stored.volume, ...(!isBusy && stored.change) };
    const isThere = machine !== null && this.#machines.has(machine);
    return { ...volume, machine: isThere ? machine : null, status: isBusy ? "changing" : "available" };
  }

  create({
    name = "",
    labels = {},
    tier = "standard",
    size = 1,
    zone = "zone-1",
    data = "",
  }: VolumeSpec): SimulatedVolume {
    if (name === "") throw new Refusal(422, "invalid_input", "name is missing");
    if (!/^zone-[123]$/.test(zone)) throw new Refusal(422, "invalid_input", `there is no zone ${zone}`);
    if (this.list().some((volume) => volume.name === name))
      throw new Refusal(409, "uniqueness_error", `a volume named ${name} already exists`);
    const id = `v${this.#next++}`;
    this.#store({ id, name, labels, tier, size, zone, data, machine: null }, {});
    return this.get(id);
  }

  change(id: string, spec: VolumeSpec): SimulatedVolume {
    const { status: _, ...before } = this.#idle(id);
    if (spec.size !== undefined && spec.size < before.size)
      throw new Refusal(422, "invalid_input", "a volume cannot become smaller");
    if (typeof spec.machine === "string") this.#checkAttach(before, spec.machine);
    this.#store(before, spec);
    return this.get(id);
  }

  /** Writes data to a volume, as a machine can do at any time. */
  write(id: string, data: string): void {
    const stored = this.#byID.get(id);
    if (stored === undefined) throw new Error(`There is no volume ${id}.`);
    this.#byID.set(id, { ...stored, volume: { ...stored.volume, data } });
  }

  remove(id: string): void {
    if (this.#idle(id).machine !== null) throw new Refusal(409, "in_use", `volume ${id} is attached`);
    this.#byID.delete(id);
  }

  #checkAttach(volume: Pick<SimulatedVolume, "id" | "machine" | "zone">, machine: string): void {
    const [found] = this.#machines.has(machine) ? this.#machines.find(machine) : [];
    if (found === undefined) throw new Refusal(404, "not_found", `machine ${machine} not found`);
    if (volume.machine !== null) throw new Refusal(409, "in_use", `volume ${volume.id} is attached`);
    if (found.zone !== volume.zone)
      throw new Refusal(422, "invalid_input", `machine ${machine} is in ${found.zone}`);
    const attached = [...this.#byID.values()].filter(
      (other) =>
        (other.change.machine === undefined ? other.volume.machine : other.change.machine) === machine,
    );
    if (attached.length >= perMachine)
      throw new Refusal(403, "limit_exceeded", `machine ${machine} has ${perMachine} volumes`);
  }

  #idle(id: string): SimulatedVolume {
    const volume = this.get(id);
    if (volume.status === "changing") throw new Refusal(423, "locked", `volume ${id} is being changed`);
    return volume;
  }

  #store(volume: Stored["volume"], change: VolumeSpec): void {
    this.#byID.set(volume.id, { volume, change, busyUntil: this.#clock.monotonic() + this.actionTime });
  }
}
