// Creates and removes snapshots of volumes, each idempotently and with the same proofs as volumes.

import { type Clock, sleep } from "../../platform/clock.ts";
import type { ObservedSnapshot, ObservedVolume, Snapshots, VolumeOutcome } from "../../provider/volumes.ts";
import { RpcError } from "../grpc/status.ts";
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
import type { OperationWaits } from "./operation-waits.ts";

export interface CloudSnapshotsOptions {
  readonly snapshots: Snapshots;
  readonly find: (volume: string, signal: AbortSignal) => Promise<ObservedVolume | undefined>;
  readonly operations: OperationWaits;
  readonly clock: Clock;
  /** Aborted when the process ends. */
  readonly life: AbortSignal;
}

export interface SnapshotRequest {
  readonly name: string;
  readonly volumeID: string;
}

export class CloudSnapshots {
  readonly #deps: CloudSnapshotsOptions;
  readonly #listing: SerialListing<ObservedSnapshot>;
  readonly #calls = new OneCallEach("snapshot");

  constructor(options: CloudSnapshotsOptions) {
    this.#deps = options;
    this.#listing = new SerialListing((call) => options.snapshots.list(call), options.life);
  }

  list(signal: AbortSignal): Promise<readonly ObservedSnapshot[]> {
    return answered(this.#listing.next(signal));
  }

  find(id: string, signal: AbortSignal): Promise<ObservedSnapshot | undefined> {
    return answered(this.#deps.snapshots.get(id, userCall(signal)));
  }

  /** When this resolves, the data is final, but the snapshot is not always ready; a later call shows that. */
  create({ name, volumeID }: SnapshotRequest, signal: AbortSignal): Promise<ObservedSnapshot> {
    return this.#calls.run(`name ${name}`, async () => {
      const found = oneNamed("snapshots", name, await this.#listing.beforeCreation(signal));
      if (found !== undefined && ![volumeID, ""].includes(found.volumeID))
        throw new RpcError(
          "ALREADY_EXISTS",
          `${titleOf(found)} exists, but is one of volume ${found.volumeID}, not of ${volumeID}. It is not changed.`,
        );
      return taken(found ?? (await this.#create(name, volumeID, signal)));
    });
  }

  async #create(name: string, volumeID: string, signal: AbortSignal): Promise<ObservedSnapshot> {
    const volume = await this.#deps.find(volumeID, signal);
    if (volume === undefined)
      throw new RpcError(
        "NOT_FOUND",
        `Volume ${volumeID} does not exist, so snapshot ${name} is not created.`,
      );
    if (volume.state === "changing")
      throw new RpcError("ABORTED", `Volume ${volumeID} is being changed by the cloud. Try again.`);
    const outcome = await this.#deps.snapshots.create({ name, volume }, userCall(signal));
    const created = await this.#after(outcome, outcome.id, signal);
    if (created?.state === "failed") {
      await this.#deps.snapshots.remove(created, userCall(signal));
      throw new RpcError(
        "RESOURCE_EXHAUSTED",
        `The cloud could not create the snapshot ${name} (${created.id}), so it is deleted again.`,
      );
    }
    if (created !== undefined) return created;
    throw changeNotSeen(`Snapshot ${name} (${outcome.id}) was created`, "does not exist");
  }

  /** Returns whether the snapshot existed. An object that a cloud does not show may still exist. */
  remove(id: string, signal: AbortSignal): Promise<boolean> {
    return this.#calls.run(id, async () => {
      const snapshot = await this.find(id, signal);
      if (snapshot !== undefined) {
        if (snapshot.state === "creating") throw unfinished(snapshot);
        const outcome = await this.#deps.snapshots.remove(snapshot, userCall(signal));
        if ((await this.#after(outcome, id, signal)) !== undefined)
          throw changeNotSeen(`${titleOf(snapshot)} was deleted`, "still exists");
      }
      const listed = (await this.#listing.next(signal)).find((each) => each.id === id);
      if (listed !== undefined) throw contradicted(`${titleOf(listed)} does not exist`, "shows it");
      return snapshot !== undefined;
    });
  }

  /** The state of the snapshot after the change. */
  async #after(
    outcome: VolumeOutcome,
    id: string,
    signal: AbortSignal,
  ): Promise<ObservedSnapshot | undefined> {
    const { operations, clock } = this.#deps;
    if (!outcome.done && outcome.operation !== undefined)
      await operations.end(outcome.operation, outcome.checkAfter, signal);
    for (;;) {
      const snapshot = await this.#deps.snapshots.get(id, userCall(signal));
      if (snapshot?.state !== "creating") return snapshot;
      await sleep(clock, outcome.done ? checkAfter : outcome.checkAfter, signal);
    }
  }
}

const titleOf = ({ id, name }: ObservedSnapshot): string => `Snapshot ${name} (${id})`;

const unfinished = (snapshot: ObservedSnapshot): RpcError =>
  new RpcError("ABORTED", `${titleOf(snapshot)} is being created by the cloud. Try again.`);

function taken(snapshot: ObservedSnapshot): ObservedSnapshot {
  if (snapshot.state === "creating") throw unfinished(snapshot);
  if (snapshot.state !== "failed") return snapshot;
  throw new RpcError(
    "INTERNAL",
    `The cloud failed to create ${titleOf(snapshot)}. Delete it in the cloud; it is then created again.`,
  );
}
