// Checks the invariants about absence where the cloud works on a change of a route for a while.
//
// 18  A route is not created a second time within 30 s of the latest of: the process that began the operation heard that the cloud works
//     on it; that process heard that the cloud knows nothing of it; a process began to lead. After that, it is not created again if all
//     listings from the end of the 30 s on show it.

import type { SimulatedRoute } from "../../providers/fake/simulator/routes.ts";
import type { TransportRequest } from "../../src/platform/transport.ts";
import { changeOf } from "./absence-invariants.ts";
import type { CloudWithRouteOperations, Operation } from "./route-operations.ts";
import type { World } from "./world.ts";

const confirmAfter = 30_000;

export class OperationInvariants {
  readonly #world: World;
  readonly #cloud: CloudWithRouteOperations;
  /** The process that began each operation. */
  readonly #begunBy = new Map<Operation, string | undefined>();

  constructor(world: World, cloud: CloudWithRouteOperations) {
    this.#world = world;
    this.#cloud = cloud;
    world.absence.cameLate = (destination) => this.#cameLate(destination);
    cloud.onOperation = (operation, what) => this.#follow(operation, what);
  }

  /** Records a request. Call this before the cloud handles it. */
  requestArrives(request: TransportRequest): void {
    const { method, path, destination = "", machine } = changeOf(request);
    if (method !== "POST" || !path.endsWith("/routes")) return;
    const { absence, clock, invariants } = this.#world;
    const now = clock.monotonic();
    const running = this.#cloud.operations.find(
      (one) =>
        one.status === "running" &&
        one.do === "create" &&
        one.route.destination === destination &&
        one.route.machine === machine,
    );
    if (running === undefined || this.#isProvedAt(now, running)) return;
    if (absence.mayRepeat(destination, running.beganAt)) return;
    const text = `the route ${destination} to ${machine} was created again, while the cloud works on ${running.id}`;
    invariants.violated(18, text);
  }

  /** Whether listings without the route could prove at this moment that the operation has no effect (monotonic). */
  #isProvedAt(moment: number, operation: Operation): boolean {
    const { history, leaderSince } = this.#world;
    // Only the process that began the operation knows what it learned about it.
    const isOwn = this.#begunBy.get(operation) === history.writer;
    return moment - (isOwn ? Math.max(operation.newsAt, leaderSince) : leaderSince) >= confirmAfter;
  }

  /**
   * Whether a listing that completes the proof may lack the route. If reads lag, they show a route that the cloud created within 30 s only
   * after that, and no manager can know of it.
   */
  #cameLate(destination: string): boolean {
    const { clock, cloudLies } = this.#world;
    const last = this.#cloud.operations.findLast(
      ({ do: change, route, status }) =>
        change === "create" && status === "done" && route.destination === destination,
    );
    if (last?.endedAt === undefined) return false;
    const shownFrom = cloudLies.routes.shownFrom(last.endedAt);
    return this.#isProvedAt(Math.min(shownFrom, clock.monotonic()), last);
  }

  #follow(operation: Operation, what: "began" | "done"): void {
    const { absence, history } = this.#world;
    const { route } = operation;
    if (what === "began") {
      this.#begunBy.set(operation, history.writer);
      const { do: change, course } = operation;
      history.log(
        `cloud: ${operation.id} is to ${change} the route ${route.destination}: ${JSON.stringify(course)}`,
      );
    }
    if (operation.do !== "remove") return;
    if (what === "began") absence.checkRemovedRoute(route as SimulatedRoute);
    else absence.removalEnded(route.destination);
  }
}
