// The trial of a volume: the cloud's smallest one, with the functions that serve CSI. It is not attached to a machine.

import { readSettings } from "../../core/read-settings.ts";
import type { Call } from "../../provider/call.ts";
import type { AnyCloud } from "../../provider/provider.ts";
import type { ObservedVolume, Segments, VolumeDriver, Volumes } from "../../provider/volumes.ts";
import { CloudVolumes } from "../../volumes/csi/cloud-volumes.ts";
import { smokeName } from "./record.ts";
import {
  type Found,
  interval,
  isUnclear,
  type Trial,
  type TrialContext,
  untilDone,
  untilShown,
} from "./trial.ts";

export class VolumeTrial implements Trial {
  readonly part = "volume";
  readonly searchFor: string;
  readonly steps = [
    { name: "create", run: (call: Call) => this.#create(call) },
    { name: "check", run: (call: Call) => this.#verify(call) },
  ];
  readonly #context: TrialContext;
  readonly #driver: VolumeDriver;
  readonly #volumes: CloudVolumes;
  readonly #place: Segments | undefined;

  constructor(
    context: TrialContext,
    driver: VolumeDriver,
    volumes: Volumes,
    { place, life }: { readonly place: Segments | undefined; readonly life: AbortSignal },
  ) {
    const { work, clock, file } = context;
    this.#context = context;
    this.#driver = driver;
    this.#volumes = new CloudVolumes({ volumes, pending: work.pending, clock, life });
    this.#place = place;
    this.searchFor = `a volume with the name ${smokeName(file.record)}`;
  }

  async find(call: Call): Promise<readonly Found[]> {
    return (await this.#own(this.#context.check, call)).map(({ id, name }) => ({
      name: `${name} (${id})`,
      remove: async () => {
        await this.#volumes.remove(id, call.signal);
        return interval;
      },
    }));
  }

  async #own({ volumes }: AnyCloud, call: Call): Promise<readonly ObservedVolume[]> {
    const name = smokeName(this.#context.file.record);
    const found = new Map<string, ObservedVolume>();
    for await (const page of volumes?.list(call) ?? [])
      for (const volume of page) if (volume.name === name) found.set(volume.id, volume);
    return [...found.values()];
  }

  #create(call: Call): Promise<void> {
    const { sizes, parameters: fields } = this.#driver;
    const { values: parameters } = readSettings(fields, {}, { what: "parameter" });
    const request = {
      name: smokeName(this.#context.file.record),
      range: { size: sizes.min, limit: sizes.max },
      places: this.#place === undefined ? [] : [this.#place],
      parameters,
      claim: undefined,
      source: undefined,
    };
    return untilDone(this.#context.clock, call.signal, async () => {
      try {
        await this.#volumes.create(request, call.signal);
      } catch (error) {
        // Only listings decide, so the check waits for a listing that shows the volume.
        if (!isUnclear(error)) throw error;
      }
      return undefined;
    });
  }

  #verify(call: Call): Promise<void> {
    const isShown = async (): Promise<boolean> => {
      const [volume, other] = await this.#own(this.#context.check, call);
      return volume?.state === "ready" && volume.size >= this.#driver.sizes.min && other === undefined;
    };
    return untilShown(this.#context, call.signal, "one volume that is ready", isShown);
  }
}
