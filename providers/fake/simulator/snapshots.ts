// The snapshots of the simulated cloud. While it is being created, a snapshot includes writes to its volume; a volume can be
// created from it only after it is uploaded.

import type { Clock } from "#ccm/testing";
import { Refusal } from "./answer.ts";
import type { FakeVolumes, SimulatedVolume } from "./volumes.ts";

export interface SimulatedSnapshot {
  readonly id: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly status: "creating" | "uploading" | "ready";
  /** The size in GiB. */
  readonly size: number;
  readonly volume: string;
  readonly created_at: string;
  readonly data: string;
}

type Stored = Omit<SimulatedSnapshot, "status"> & { readonly createdAt: number; readonly readyAt: number };
type SnapshotSpec = Partial<Pick<SimulatedSnapshot, "name" | "labels" | "volume">>;

export class FakeSnapshots {
  readonly #clock: Clock;
  readonly #volumes: FakeVolumes;
  readonly #byID = new Map<string, Stored>();
  #next = 1;

  constructor(clock: Clock, volumes: FakeVolumes) {
    this.#clock = clock;
    this.#volumes = volumes;
  }

  list(): readonly SimulatedSnapshot[] {
    return [...this.#byID.keys()].map((id) => this.get(id));
  }

  get(id: string): SimulatedSnapshot {
    const stored = this.#byID.get(id);
    if (stored === undefined) throw new Refusal(404, "not_found", `snapshot ${id} not found`);
    const { createdAt, readyAt, ...snapshot } = stored;
    const now = this.#clock.monotonic();
    return { ...snapshot, status: now < createdAt ? "creating" : now < readyAt ? "uploading" : "ready" };
  }

  create({ name = "", labels = {}, volume = "" }: SnapshotSpec): SimulatedSnapshot {
    if (name === "") throw new Refusal(422, "invalid_input", "name is missing");
    if (this.list().some((snapshot) => snapshot.name === name))
      throw new Refusal(409, "uniqueness_error", `a snapshot named ${name} already exists`);
    const { size, data, status } = this.#volumes.get(volume);
    if (status === "changing") throw new Refusal(423, "locked", `volume ${volume} is being changed`);
    const id = `s${this.#next++}`;
    const { actionTime } = this.#volumes;
    const createdAt = this.#clock.monotonic() + actionTime;
    const created_at = new Date(this.#clock.now()).toISOString();
    const readyAt = createdAt + actionTime;
    this.#byID.set(id, { id, name, labels, size, volume, data, created_at, createdAt, readyAt });
    return this.get(id);
  }

  remove(id: string): void {
    if (this.get(id).status === "creating")
      throw new Refusal(423, "locked", `snapshot ${id} is being created`);
    this.#byID.delete(id);
  }

  /** Data that is written to the volume while a snapshot is being created becomes part of the snapshot. */
  write(volume: string, data: string): void {
    for (const [id, stored] of this.#byID)
      if (stored.volume === volume && this.get(id).status === "creating")
        this.#byID.set(id, { ...stored, data });
  }

  /** The data with which a new volume begins. */
  dataFor(spec: { readonly snapshot?: string; readonly volume?: string; readonly size?: number }): string {
    if (spec.snapshot === undefined && spec.volume === undefined) return "";
    const source: Pick<SimulatedVolume, "size" | "data"> & { readonly status: string } =
      spec.snapshot === undefined ? this.#volumes.get(spec.volume ?? "") : this.get(spec.snapshot);
    if (!["ready", "available"].includes(source.status))
      throw new Refusal(423, "locked", `the source is ${source.status}`);
    if ((spec.size ?? 1) < source.size)
      throw new Refusal(422, "invalid_input", `the source has ${source.size} GiB`);
    return source.data;
  }
}
