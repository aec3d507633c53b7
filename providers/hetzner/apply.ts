// Applies the steps of load balancers: interprets the cloud's responses, and locks load balancers that several Services
// share.

import {
  type Call,
  CloudError,
  codeOf,
  collect,
  deleted,
  deletedWithProof,
  done,
  ifFound,
  inProgress,
  type KeyedLock,
  milliseconds,
  type StepOutcome,
  seconds,
  whileMarked,
} from "#ccm";
import { type HetznerApi, outcomeOf } from "./api.ts";
import type { HetznerStep } from "./balancer.ts";
import { isMarkedFor, ownerLabel } from "./marks.ts";
import type { ApiLoadBalancer, ApiTarget } from "./resources.ts";
import { keyOf } from "./targets.ts";

const deletion = "delete load balancer";
const soon = milliseconds(100);
const removals = new Set([deletion, "delete service", "remove target", "detach from network"]);

/** The labels on which steps rest. A deletion rests on the ports too, because it removes those of other programs. */
const marksOf = (
  { labels, services }: Pick<ApiLoadBalancer, "labels" | "services">,
  step: HetznerStep,
): readonly string[] => [
  ...Object.entries(labels).map(([key, value]) => `${key}=${value}`),
  ...(step.do === deletion ? services.map(({ listen_port }) => `port ${listen_port}`) : []),
];

/** Applies a step to a shared load balancer only while it is as the plan saw it. */
function applyToShared(
  api: HetznerApi,
  locks: KeyedLock,
  step: HetznerStep,
  seen: NonNullable<HetznerStep["whileMarked"]>,
  call: Call,
): Promise<StepOutcome> {
  const [name, id, planned] =
    "id" in seen ? [undefined, seen.id, marksOf(seen, step)] : [seen.name, undefined, undefined];
  const find = async () =>
    id === undefined
      ? (await collect(api.loadBalancers(call, { name })))[0]
      : ifFound(api.loadBalancer(id, call));
  const read = async () => {
    const found = await find();
    // A load balancer with the Go manager's label cannot be joined: the cloud rejects the name.
    if (found === undefined || (id === undefined && found.labels[ownerLabel] !== undefined)) return undefined;
    return { name: found.name, marks: marksOf(found, step), balancer: found };
  };
  const key = name ?? String(id);
  const marked = { step, operation: step.request.operation, key, noun: "labels", planned, read };
  return whileMarked(locks, marked, call, async (found) => {
    const { target } = step;
    const isThere = found?.balancer.targets.some((one) => keyOf(one) === target) === true;
    const isAddition = step.targets?.adds !== undefined;
    if (target !== undefined && isAddition === isThere) return done();
    return applyAlone(api, step, call).catch((error: unknown) => {
      // A change for another Service is still running.
      const isLocked = CloudError.is(error) && error.kind === "busy" && step.do !== deletion;
      if (!isLocked) throw error;
      return inProgress(`another change of the load balancer ${step.on} to end`, { checkAfter: seconds(1) });
    });
  });
}

/** Explains errors that only the name of the step can explain. */
function explained(error: CloudError, { on = "", request }: HetznerStep): CloudError {
  const { name = on } = (request.body ?? {}) as { readonly name?: string };
  const isCreation = request.operation === "POST /load_balancers";
  const isNamed = isCreation || request.operation === "PUT /load_balancers/{id}";
  if (!isNamed || codeOf(error) !== "uniqueness_error") return error;
  const so = isCreation ? "No load balancer is created" : `The load balancer keeps the name ${on}`;
  const adopt = isCreation
    ? ` To adopt it, remove its label ${ownerLabel}. To share it, set load-balancer.hetzner.cloud/shared in all its Services.`
    : "";
  const text = `The project has another load balancer with the name ${name}, which belongs to another Service or cluster. ${so}. Set a different load-balancer.hetzner.cloud/name.${adopt}`;
  return new CloudError(error.kind, text, { ...error.detail, cause: error });
}

/** The cloud rejects this target, but would accept another. */
const targetCodes: ReadonlySet<string | undefined> = new Set([
  "resource_limit_exceeded",
  "ip_not_owned",
  "cloud_resource_ip_not_allowed",
  "server_not_attached_to_network",
  "load_balancer_not_attached_to_network",
  "missing_ipv4",
  "robot_unavailable",
]);

/** A target that Robot could not check is added again. */
const whenAvailable = { retryAfter: seconds(30) };

/** The body of a creation without its targets; undefined if it has none. */
function withoutTargets(body: unknown): object | undefined {
  const { targets = [], ...rest } = (body ?? {}) as { readonly targets?: readonly ApiTarget[] };
  return targets.length === 0 ? undefined : { ...rest, targets: [] };
}

/** A rejected target must not block the other targets or the creation. Later plans add targets one at a time. */
async function applyWithoutRefused(api: HetznerApi, step: HetznerStep, call: Call): Promise<StepOutcome> {
  const { request } = step;
  const node = step.targets?.adds?.[0];
  const title = `"${step.do}" of ${step.on}`;
  try {
    const { action, load_balancer: changed } = await api.change<{ load_balancer?: ApiLoadBalancer }>(
      request,
      call,
    );
    const outcome = outcomeOf(action, title, node);
    const isReleased =
      changed !== undefined && step.unmarks !== undefined && !isMarkedFor(changed, step.unmarks);
    return outcome.done && isReleased ? { ...outcome, isGone: true } : outcome;
  } catch (error) {
    if (!CloudError.is(error)) throw error;
    // "Not found" may be a server that was deleted a moment ago.
    const isRefused = targetCodes.has(codeOf(error)) || error.kind === "not-found";
    if (node !== undefined && (isRefused || error.kind === "invalid"))
      return done(undefined, [
        { node, text: error.message, ...(error.kind === "unavailable" && whenAvailable) },
      ]);
    if (!isRefused) throw explained(error, step);
    const body = withoutTargets(request.body);
    if (body === undefined) throw error;
    return applyWithoutRefused(api, { ...step, request: { ...request, body } }, call);
  }
}

export function applyStep(
  api: HetznerApi,
  locks: KeyedLock,
  step: HetznerStep,
  call: Call,
): Promise<StepOutcome> {
  const { whileMarked: rest } = step;
  return rest === undefined ? applyAlone(api, step, call) : applyToShared(api, locks, step, rest, call);
}

function applyAlone(api: HetznerApi, step: HetznerStep, call: Call): Promise<StepOutcome> {
  if (!removals.has(step.do)) return applyWithoutRefused(api, step, call);
  const request = api.change(step.request, call);
  const started = (response: Awaited<typeof request>) =>
    outcomeOf(response.action, `"${step.do}" of ${step.on}`);
  if (step.do === deletion)
    return deletedWithProof(
      request,
      () => api.loadBalancer(step.request.path.replace("/load_balancers/", ""), call),
      started,
    ).catch((error: unknown) => {
      if (codeOf(error) !== "protected") throw error;
      // Delete protection was enabled after the listing. The next plan releases it.
      return inProgress(`a listing that shows the delete protection of ${step.on}`, { checkAfter: soon });
    });
  // The removed object may already be gone: a deleted server is no longer a target.
  return deleted(request, started);
}
