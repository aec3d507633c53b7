// Calls a provider's volumes and snapshots like sidecars, for the conformance suites.

import { seconds } from "../../core/brand.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Call } from "../../provider/call.ts";
import type { Pending } from "../../provider/plan.ts";
import type {
  ObservedSnapshot,
  ObservedVolume,
  Segments,
  Snapshots,
  VolumeDriver,
  VolumeSource,
  Volumes,
} from "../../provider/volumes.ts";
import { DeadlineError, withDeadline } from "../../runtime/deadline.ts";
import type { CloudSnapshots } from "../../volumes/csi/cloud-snapshots.ts";
import { CloudVolumes } from "../../volumes/csi/cloud-volumes.ts";
import { readParameters } from "../../volumes/csi/volume-requests.ts";
import { RpcError } from "../../volumes/grpc/status.ts";
import { collect, type Lab } from "./lab.ts";

const requestLimit = seconds(20);

async function* bounded<T>(
  clock: Clock,
  call: Call,
  list: (call: Call) => AsyncIterable<T>,
): AsyncIterable<T> {
  yield* await withDeadline(clock, requestLimit, "The listing", call.signal, (signal) =>
    collect(list({ ...call, signal })),
  );
}

/** `CloudVolumes` requires that each request has a deadline, as in production. */
function withDeadlines({ cloud, clock }: Lab): {
  readonly volumes: Volumes;
  readonly pending: Pending | undefined;
} {
  const { volumes, pending } = cloud;
  if (volumes === undefined) throw new Error("This provider has no volumes.");
  return {
    volumes: {
      ...volumes,
      list: (call) => bounded(clock, call, (bound) => volumes.list(bound)),
      snapshots: volumes.snapshots && {
        ...volumes.snapshots,
        list: (call) => bounded(clock, call, (bound) => (volumes.snapshots as Snapshots).list(bound)),
      },
    },
    pending: pending && {
      ...pending,
      check: (ids, call) =>
        withDeadline(clock, requestLimit, "The check", call.signal, (signal) =>
          pending.check(ids, { ...call, signal }),
        ),
    },
  };
}

const retried = ["ABORTED", "UNAVAILABLE"];
const maxAttempts = 50;

/** Calls a connected provider like sidecars: repeats a call after a failure that is not final. */
export class Orchestrator {
  readonly lab: Lab;
  readonly driver: VolumeDriver;
  /** Restarts the process after each failure. */
  crashesOnFailure = false;
  #process: CloudVolumes | undefined;
  #cloud: unknown;

  constructor(lab: Lab, driver: VolumeDriver) {
    this.lab = lab;
    this.driver = driver;
  }

  /** A new connection represents a new process. */
  get process(): CloudVolumes {
    if (this.#process === undefined || this.#cloud !== this.lab.cloud) {
      this.#cloud = this.lab.cloud;
      const life = new AbortController().signal;
      this.#process = new CloudVolumes({ ...withDeadlines(this.lab), clock: this.lab.clock, life });
    }
    return this.#process;
  }

  once<T>(work: (volumes: CloudVolumes, signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.lab.run(({ signal }) => work(this.process, signal));
  }

  async until<T>(work: (volumes: CloudVolumes, signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      try {
        return await this.once(work);
      } catch (error) {
        const isRetried =
          error instanceof RpcError ? retried.includes(error.code) : error instanceof DeadlineError;
        if (!isRetried || attempts === maxAttempts) throw error;
        if (this.crashesOnFailure) this.lab.connect();
        await this.lab.clock.advance(seconds(5));
      }
    }
  }

  create(name: string, place: Segments, steps = 1, source?: VolumeSource): Promise<ObservedVolume> {
    const { driver } = this;
    const { values, claim } = readParameters({}, driver);
    const size = driver.sizes.min + (steps - 1) * driver.sizes.step;
    const range = { size, limit: driver.sizes.max };
    const request = { name, range, places: [place], parameters: values, claim, source };
    return this.until((volumes, signal) => volumes.create(request, signal));
  }

  /** Creates a snapshot, and waits until a volume can be created from it. `whenTaken`: called when its data should be final. */
  async snapshot(
    name: string,
    { id }: ObservedVolume,
    whenTaken: () => void = () => undefined,
  ): Promise<ObservedSnapshot> {
    const request = { name, volumeID: id };
    for (;;) {
      const made = await this.until((volumes, signal) => snapshotsOf(volumes).create(request, signal));
      whenTaken();
      if (made.state === "ready") return made;
      await this.lab.clock.advance(seconds(1));
    }
  }

  removeSnapshot({ id }: ObservedSnapshot): Promise<boolean> {
    return this.until((volumes, signal) => snapshotsOf(volumes).remove(id, signal));
  }

  attach({ id }: ObservedVolume, machine: string): Promise<ObservedVolume> {
    return this.until((volumes, signal) => volumes.attach(id, machine, signal));
  }

  detach({ id }: ObservedVolume, machine?: string): Promise<boolean> {
    return this.until((volumes, signal) => volumes.detach(id, machine, signal));
  }

  expand({ id }: ObservedVolume, size: number): Promise<ObservedVolume> {
    const { max } = this.driver.sizes;
    return this.until((volumes, signal) => volumes.expand(id, { size, limit: max }, signal));
  }

  remove({ id }: ObservedVolume): Promise<boolean> {
    return this.until((volumes, signal) => volumes.remove(id, signal));
  }
}

export interface Machines {
  /** Two machines in the same place. */
  readonly ids: readonly [string, string];
  readonly place: Segments;
}

/** Adds machines until two of them are in the same place. */
export async function addMachines(lab: Lab, driver: VolumeDriver): Promise<Machines> {
  for (let count = 0; count < 10; count++) lab.simulated.addMachine(`disk-${count}`);
  const [source] = lab.cloud.instances?.sources ?? [];
  if (source === undefined) throw new Error("This provider has no instances.");
  const found = (await lab.list((call) => source.list(call))).flatMap((instance) => {
    const [id, place] = [driver.nodeIDOf(instance.id), driver.topologyOf(instance)];
    return id === undefined || place === undefined ? [] : [{ id, place }];
  });
  for (const { id, place } of found) {
    const other = found.find(
      (each) => each.id !== id && JSON.stringify(each.place) === JSON.stringify(place),
    );
    if (other !== undefined) return { ids: [id, other.id], place };
  }
  throw new Error("No two machines of this cloud are in the same place.");
}

/** Throws if the provider has no snapshots. */
export function snapshotsOf({ snapshots }: CloudVolumes): CloudSnapshots {
  if (snapshots === undefined) throw new Error("This provider has no snapshots.");
  return snapshots;
}
