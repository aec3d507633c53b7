// The simulated clouds that the clients use: an environment with hosts, in real time, and one with
// a clock that moves only with requests and pauses.

import { answerRequest } from "#ccm/testing";
import { keys } from "../../../../../providers/rancher/simulator/harness.ts";
import { RancherCloud, serveRancherCloud } from "../../../../../providers/rancher/simulator/index.ts";
import { milliseconds, seconds } from "../../../../../src/core/brand.ts";
import { parseDuration } from "../../../../../src/core/duration.ts";
import { type Clock, systemClock } from "../../../../../src/platform/clock.ts";
import { type Change, Measurement } from "../../trace/measurement.ts";
import { SteppedClock } from "./stepped-clock.ts";

function environmentIn(clock: Clock, stateTime: number): RancherCloud {
  const cloud = new RancherCloud({ clock, stateTime: milliseconds(stateTime) });
  const { hosts, services } = cloud.environment;
  cloud.addKey(keys.access, keys.secret);
  for (let index = 1; index <= 4; index += 1) hosts.add(`node-${index}`, { name: `node-${index}` });
  for (let index = 0; index < 250; index += 1) hosts.add(`many-${index}`, { name: `many-${index}` });
  services.obstacles.occupy(9999);
  return cloud;
}

interface Served extends AsyncDisposable {
  /** The URL with `/v2-beta`. */
  readonly endpoint: string;
}

/** Each request takes 20 ms, and each state of a service 1 s. `/control/pause/2s` passes time, and `/control/part/x` begins a part. */
export class SteppedWorld implements Served {
  readonly #clock = new SteppedClock();
  readonly #cloud = environmentIn(this.#clock, seconds(1));
  readonly #measurement = new Measurement(this.#cloud);
  readonly #server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: (request) => this.#serve(request) });

  get endpoint(): string {
    return `${this.#server.url.origin}/v2-beta`;
  }

  get control(): string {
    return `${this.#server.url.origin}/control`;
  }

  get changes(): readonly Change[] {
    return this.#measurement.changes;
  }

  async #serve(request: Request): Promise<Response> {
    const [, what, value = ""] = /^\/control\/(pause|part)\/(.*)$/.exec(new URL(request.url).pathname) ?? [];
    if (what === undefined) {
      this.#clock.pass(milliseconds(20));
      return answerRequest(this.#cloud, request);
    }
    if (what === "pause") this.#clock.pass(parseDuration(value) ?? milliseconds(0));
    else this.#measurement.begin(decodeURIComponent(value));
    return new Response(null, { status: 204 });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop(true);
  }
}

export function startRealTimeWorld(): Served {
  const served = serveRancherCloud(environmentIn(systemClock, 400), 0);
  return { endpoint: `${served.url}/v2-beta`, [Symbol.asyncDispose]: () => served[Symbol.asyncDispose]() };
}
