// Creates, removes, attaches, detaches and expands volumes, each idempotently. A volume is looked up by its id before and after
// a change, and only a definite answer counts. Volumes are found by name in a listing that began after the request.

import { sleep } from "../../platform/clock.ts";
import type {
  DesiredVolume,
  ObservedVolume,
  Segments,
  VolumeOutcome,
  VolumeSource,
  Volumes,
} from "../../provider/volumes.ts";
import { RpcError, type StatusCode } from "../grpc/status.ts";
import {
  answered,
  changeNotSeen,
  checkAfter,
  contradicted,
  OneCallEach,
  oneNamed,
  SerialListing,
  userCall,
} from "./cloud-answers.ts";
import { CloudSnapshots } from "./cloud-snapshots.ts";
import { OperationWaits, type OperationWaitsOptions } from "./operation-waits.ts";
import { isUsableIn, type SizeRange, sizeText } from "./volume-requests.ts";

/** With more concurrent creations, volumes are read in listings. */
const fewCreations = 2;

/** `volumes` and `pending` are read for each call, because a reload replaces them. */
export interface CloudVolumesOptions extends OperationWaitsOptions {
  readonly volumes: Volumes;
}

/** The claim's request. `places` are the allowed topologies, the preferred one first; if empty, any place is allowed. */
export interface VolumeRequest extends Pick<DesiredVolume, "name" | "parameters" | "claim" | "source"> {
  readonly range: SizeRange;
  readonly places: readonly Segments[];
}

export class CloudVolumes {
  readonly #options: CloudVolumesOptions;
  readonly #operations: OperationWaits;
  readonly #listing: SerialListing<ObservedVolume>;
  readonly #calls = new OneCallEach("volume");
  #creations = 0;
  /** Undefined if the cloud has no snapshots. */
  readonly snapshots: CloudSnapshots | undefined;

  constructor(options: CloudVolumesOptions) {
    const { clock, life } = options;
    this.#options = options;
    this.#operations = new OperationWaits(options);
    this.#listing = new SerialListing((call) => this.#volumes.list(call), life);
    const { snapshots } = options.volumes;
    const find = async (id: string, signal: AbortSignal) => this.find(id, signal);
    this.snapshots =
      snapshots &&
      new CloudSnapshots({
        get snapshots() {
          return options.volumes.snapshots ?? snapshots;
        },
        find,
        operations: this.#operations,
        clock,
        life,
      });
  }

  get #volumes(): Volumes {
    return this.#options.volumes;
  }

  /**
   * Volumes by id in the last complete listing; undefined before the first listing. Each answer that a volume is gone, or not
   * attached, is based on such a listing.
   */
  get shown(): ReadonlyMap<string, ObservedVolume> | undefined {
    const { latest } = this.#listing;
    return latest && new Map(latest.map((volume) => [volume.id, volume]));
  }

  list(signal: AbortSignal): Promise<readonly ObservedVolume[]> {
    return answered(this.#listing.next(signal));
  }

  find(id: string, signal: AbortSignal): Promise<ObservedVolume | undefined> {
    return answered(this.#volumes.get(id, userCall(signal)));
  }

  create(request: VolumeRequest, signal: AbortSignal): Promise<ObservedVolume> {
    const { name, range, places, parameters, claim, source } = request;
    return this.#calls.run(`name ${name}`, async () => {
      const found = oneNamed("volumes", name, await this.#listing.beforeCreation(signal));
      if (found?.state === "failed")
        throw new RpcError(
          "INTERNAL",
          `The cloud failed to create ${titleOf(found)}. Delete it in the cloud; it is then created again.`,
        );
      const make = async (): Promise<ObservedVolume> => {
        const topology = source === undefined ? places[0] : await this.#placeOf(source, request, signal);
        return this.#create({ name, size: range.size, topology, parameters, claim, source }, signal);
      };
      const made = ready(found === undefined ? await make() : compatible(found, request));
      // Some clouds create a volume with the size of its source.
      return source !== undefined && made.size < range.size ? this.#expand(made, range.size, signal) : made;
    });
  }

  /** Where a volume can be created from this source. */
  async #placeOf(
    { kind, id }: VolumeSource,
    { name, range, places }: VolumeRequest,
    signal: AbortSignal,
  ): Promise<Segments | undefined> {
    const found =
      kind === "volume"
        ? await this.#volumes.get(id, userCall(signal))
        : await this.snapshots?.find(id, signal);
    const refused = (code: Exclude<StatusCode, "OK">, why: string) =>
      new RpcError(code, `Volume ${name} cannot be created from ${kind} ${id}: ${why}`);
    if (found === undefined) throw refused("NOT_FOUND", "it does not exist.");
    if (found.state === "failed") throw refused("FAILED_PRECONDITION", "the cloud failed to create it.");
    if (found.state !== "ready") throw refused("UNAVAILABLE", "it is being created or changed. Try again.");
    if (found.size > range.size)
      throw refused(
        "OUT_OF_RANGE",
        `its size is ${sizeText(found.size)}, and the claim asks for ${sizeText(range.size)}. Ask for at least ${sizeText(found.size)} in the claim.`,
      );
    const { topology } = found;
    if (topology === undefined || places.length === 0) return topology ?? places[0];
    const place = places.find((each) => isUsableIn(each, topology));
    if (place !== undefined) return place;
    throw refused(
      "RESOURCE_EXHAUSTED",
      `it is in ${Object.values(topology).join(", ")}, where the claim cannot use a volume. Choose a Node there.`,
    );
  }

  async #create(desired: DesiredVolume, signal: AbortSignal): Promise<ObservedVolume> {
    this.#creations += 1;
    try {
      // Sent after attachments and changes of Services, which may belong to another tenant.
      const call = { signal, urgency: "new-node" } as const;
      const outcome = await this.#volumes.create(desired, call);
      const created = await this.#after(outcome, outcome.id, signal);
      if (created?.state === "failed") {
        await this.#volumes.remove(created, userCall(signal));
        throw new RpcError(
          "RESOURCE_EXHAUSTED",
          `The cloud could not create the volume ${desired.name} (${created.id}), so it is deleted again. A frequent reason is that no storage of this type has room there.`,
        );
      }
      if (created !== undefined) return created;
      throw changeNotSeen(`Volume ${desired.name} (${outcome.id}) was created`, "does not exist");
    } finally {
      this.#creations -= 1;
    }
  }

  /** Returns whether the volume existed. An object that a cloud does not show may still exist. */
  remove(id: string, signal: AbortSignal): Promise<boolean> {
    return this.#calls.run(id, async () => {
      const volume = await this.#volumes.get(id, userCall(signal));
      if (volume === undefined) {
        await this.#requireUnlisted(id, signal);
        return false;
      }
      if (volume.attachedTo.length > 0)
        throw new RpcError(
          "FAILED_PRECONDITION",
          `${titleOf(volume)} is attached to machine ${volume.attachedTo.join(", ")}, so it is not deleted. Delete the pods that use it, or detach it.`,
        );
      if (volume.isProtected === true)
        throw new RpcError(
          "FAILED_PRECONDITION",
          `${titleOf(volume)} is protected against deletion in the cloud, so it is not deleted. Remove the protection to delete it.`,
        );
      const outcome = await this.#volumes.remove(ready(volume), userCall(signal));
      if ((await this.#after(outcome, id, signal)) !== undefined)
        throw changeNotSeen(`${titleOf(volume)} was deleted`, "still exists");
      await this.#requireUnlisted(id, signal);
      return true;
    });
  }

  attach(id: string, machine: string, signal: AbortSignal): Promise<ObservedVolume> {
    return this.#calls.run(id, async () => {
      const volume = await this.#volumes.get(id, userCall(signal));
      if (volume === undefined) throw new RpcError("NOT_FOUND", `Volume ${id} does not exist.`);
      if (volume.attachedTo.includes(machine)) {
        if ((await this.#listed(id, signal))?.attachedTo.includes(machine) === true) return ready(volume);
        throw contradicted(`${titleOf(volume)} is attached to machine ${machine}`, "shows that it is not");
      }
      const [elsewhere] = volume.attachedTo;
      if (elsewhere !== undefined) {
        if ((await this.#listed(id, signal))?.attachedTo.includes(elsewhere) === true)
          throw new AttachedElsewhere(volume, elsewhere, machine);
        throw contradicted(`${titleOf(volume)} is attached to machine ${elsewhere}`, "shows that it is not");
      }
      const outcome = await this.#volumes.attach(ready(volume), machine, userCall(signal));
      const attached = await this.#after(outcome, id, signal);
      if (attached?.attachedTo.includes(machine) === true) return attached;
      throw changeNotSeen(`${titleOf(volume)} was attached to machine ${machine}`, "is not attached to it");
    });
  }

  /**
   * Detaches from one machine, or from all machines. Returns whether the volume was attached. Unattached and missing volumes are
   * ignored.
   */
  detach(id: string, machine: string | undefined, signal: AbortSignal): Promise<boolean> {
    return this.#calls.run(id, async () => {
      let wasAttached = false;
      const volume = await this.#volumes.get(id, userCall(signal));
      // While the volume is changing, an attachment in progress is not shown.
      if (volume !== undefined) ready(volume);
      for (const from of volume?.attachedTo ?? []) {
        if (volume === undefined || (machine !== undefined && from !== machine)) continue;
        wasAttached = true;
        const outcome = await this.#volumes.detach(volume, from, userCall(signal));
        const after = await this.#after(outcome, id, signal);
        if (after?.attachedTo.includes(from) === true)
          throw changeNotSeen(
            `${titleOf(volume)} was detached from machine ${from}`,
            "is still attached to it",
          );
      }
      const listed = await this.#listed(id, signal);
      const from = listed && ready(listed).attachedTo.find((one) => machine === undefined || one === machine);
      if (listed !== undefined && from !== undefined)
        throw contradicted(`${titleOf(listed)} is not attached to machine ${from}`, "shows that it is");
      return wasAttached;
    });
  }

  expand(id: string, { size, limit }: SizeRange, signal: AbortSignal): Promise<ObservedVolume> {
    return this.#calls.run(id, async () => {
      const volume = await this.#volumes.get(id, userCall(signal));
      if (volume === undefined) throw new RpcError("NOT_FOUND", `Volume ${id} does not exist.`);
      if (volume.size > limit)
        throw new RpcError(
          "OUT_OF_RANGE",
          `${titleOf(volume)} has ${sizeText(volume.size)}, which is more than ${sizeText(limit)}. A volume cannot become smaller.`,
        );
      return volume.size >= size ? volume : this.#expand(volume, size, signal);
    });
  }

  async #expand(volume: ObservedVolume, size: number, signal: AbortSignal): Promise<ObservedVolume> {
    const outcome = await this.#volumes.expand(ready(volume), size, userCall(signal));
    const expanded = await this.#after(outcome, volume.id, signal);
    if (expanded !== undefined && expanded.size >= size) return expanded;
    throw changeNotSeen(`${titleOf(volume)} was expanded to ${sizeText(size)}`, "has its former size");
  }

  /** A single incorrect lookup must not cause a volume to be forgotten, so a listing that begins now must lack it. */
  async #requireUnlisted(id: string, signal: AbortSignal): Promise<void> {
    const listed = await this.#listed(id, signal);
    if (listed !== undefined) throw contradicted(`${titleOf(listed)} does not exist`, "shows it");
  }

  async #listed(id: string, signal: AbortSignal): Promise<ObservedVolume | undefined> {
    return (await this.#listing.next(signal)).find((volume) => volume.id === id);
  }

  /** The state of the volume after the change. */
  async #after(outcome: VolumeOutcome, id: string, signal: AbortSignal): Promise<ObservedVolume | undefined> {
    if (!outcome.done && outcome.operation !== undefined)
      await this.#operations.end(outcome.operation, outcome.checkAfter, signal);
    else if (!outcome.done && this.#areMany) await sleep(this.#options.clock, outcome.checkAfter, signal);
    for (;;) {
      const volume = await this.#read(id, signal);
      if (volume?.state !== "changing") return volume;
      await sleep(this.#options.clock, outcome.done ? checkAfter : outcome.checkAfter, signal);
    }
  }

  /** While many volumes are created, one listing replaces the lookups of all. */
  async #read(id: string, signal: AbortSignal): Promise<ObservedVolume | undefined> {
    const all = this.#areMany ? await this.#listing.next(signal) : [];
    return all.find((volume) => volume.id === id) ?? (await this.#volumes.get(id, userCall(signal)));
  }

  get #areMany(): boolean {
    return this.#creations > fewCreations;
  }
}

/** A lookup and a listing agree that the volume is attached to another machine. */
export class AttachedElsewhere extends RpcError {
  readonly elsewhere: string;

  constructor(volume: ObservedVolume, elsewhere: string, machine: string) {
    super(
      "FAILED_PRECONDITION",
      `${titleOf(volume)} is attached to machine ${elsewhere}, so it is not attached to ${machine}. It is never detached while it may be in use there.`,
    );
    this.elsewhere = elsewhere;
  }
}

const titleOf = ({ id, name }: ObservedVolume): string => `Volume ${name} (${id})`;

function ready(volume: ObservedVolume): ObservedVolume {
  if (volume.state !== "changing") return volume;
  throw new RpcError("ABORTED", `${titleOf(volume)} is being created or changed by the cloud. Try again.`);
}

/** Whether a volume with the claim's name satisfies the request. */
function compatible(found: ObservedVolume, { range, places, source }: VolumeRequest): ObservedVolume {
  const differs = (what: string) =>
    new RpcError(
      "ALREADY_EXISTS",
      `${titleOf(found)} exists, but ${what}. It is not changed. Delete it in the cloud if it has no data, or correct the claim.`,
    );
  const isTooSmall = source === undefined && found.size < range.size;
  if (isTooSmall || found.size > range.limit)
    throw differs(`its size is ${sizeText(found.size)}, and the claim needs ${sizeText(range.size)}`);
  if (places.length > 0 && !places.some((place) => isUsableIn(place, found.topology)))
    throw differs(`it is in ${Object.values(found.topology).join(", ")}, where the claim cannot use it`);
  return found;
}
