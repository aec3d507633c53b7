// How the replicas reach the simulated cloud: every request is checked against the true state before and after it.

import { asTransport } from "#ccm/testing";
import type { FakeCloud } from "../../providers/fake/simulator/fake-cloud.ts";
import type { Transport } from "../../src/platform/transport.ts";
import { changeOf, stateOf } from "./absence-invariants.ts";
import type { World } from "./world.ts";

/** Answers requests to other clouds; undefined leaves a request to the simulated cloud. */
export type Divert = (...request: Parameters<Transport>) => Promise<Response> | undefined;

export class CloudAccess {
  readonly #world: World;
  readonly #divert: Divert | undefined;
  readonly #send: Transport;
  #requestKind: "listing" | "lookup" = "listing";

  constructor(world: World, divert: Divert | undefined) {
    this.#world = world;
    this.#divert = divert;
    this.#send = asTransport(world.cloud);
    // Hides machines from the kind of request that is being answered, or shows them as stopped.
    const { cloud } = world;
    const hides = cloud.hides;
    cloud.hides = (machine) => hides(machine) || world.hiddenMachines.isHidden(machine.id, this.#requestKind);
    cloud.shows = (machine) =>
      world.shownStopped.isHidden(machine.id, this.#requestKind)
        ? { ...machine, status: "stopped" }
        : machine;
  }

  readonly transport: Transport = async (request, signal) => {
    const { cloud, cloudInvariants, absence, random } = this.#world;
    const elsewhere = this.#divert?.(request, signal);
    if (elsewhere !== undefined) return elsewhere;
    const { searchParams } = new URL(request.url);
    this.#requestKind = searchParams.has("ids") || searchParams.has("names") ? "lookup" : "listing";
    const before = request.method === "GET" ? undefined : stateOf(cloud);
    this.#world.operationInvariants?.requestArrives(request);
    const answer = this.#send(request, signal);
    cloudInvariants.cloudHandled(request);
    this.#world.onCloudRequest(request);
    if (before !== undefined) absence.cloudHandled(changeOf(request), before, stateOf(cloud));
    const response = await answer;
    if (response.status !== 429) return response;
    const headers = new Headers(response.headers);
    headers.set("retry-after", String(1 + Math.floor(random.fraction() * 40)));
    return new Response(await response.text(), { status: 429, headers });
  };

  /** For credentials of another project. Nothing that exists may be created there a second time. */
  to(project: FakeCloud): Transport {
    const { cloud, absence } = this.#world;
    const send = asTransport(project);
    return (request, signal) => {
      const answer = send(request, signal);
      if ((project.seen.at(-1)?.status ?? 500) < 300)
        absence.cloudHandled(changeOf(request), stateOf(cloud), stateOf(cloud));
      return answer;
    };
  }
}
