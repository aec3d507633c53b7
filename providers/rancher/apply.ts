// Applies single steps: each is one change, made after a check of what other Services may have done.

import {
  type Call,
  CloudError,
  codeOf,
  collect,
  deletedWithProof,
  done,
  inProgress,
  resolveOnce,
  type StepOutcome,
  seconds,
} from "#ccm";
import type { RancherApi } from "./api.ts";
import { clusterOf, markedOwner, metadataOf, type RancherStep, withoutMark } from "./balancer.ts";
import { type ApiLoadBalancer, type ApiService, type ApiStack, isGoing, type Resource } from "./resources.ts";

type IsTakenByOtherKind = (name: string, stackID: string | undefined, call: Call) => Promise<boolean>;

/**
 * Returns a function that checks whether a service of another kind has the name of an external service. Concurrent calls for
 * a name share one listing. No result is kept, because the name may become free.
 */
export function takenNames(api: RancherApi): IsTakenByOtherKind {
  const running = new Map<string, (call: Call) => Promise<boolean>>();
  const read = async (name: string, stackID: string | undefined, call: Call) => {
    const named = await collect(api.list<ApiService>("service", call, { name }));
    return named.some(
      (one) => one.stackId === stackID && one.name.toLowerCase() === name && one.type !== "externalService",
    );
  };
  return async (anyCase, stackID, call) => {
    const name = anyCase.toLowerCase();
    const key = `${stackID} ${name}`;
    const shared =
      running.get(key) ??
      resolveOnce((joined) => read(name, stackID, joined).finally(() => running.delete(key)));
    running.set(key, shared);
    return shared(call);
  };
}

export async function findStack(api: RancherApi, name: string, call: Call): Promise<ApiStack | undefined> {
  const stacks = await collect(api.list<ApiStack>("stack", call, { name }));
  // Names are unique without regard to case.
  const wanted = name.toLowerCase();
  return stacks.find((stack) => stack.name.toLowerCase() === wanted && stack.state !== "removing");
}

interface ApplyContext {
  readonly api: RancherApi;
  readonly isTakenByOtherKind: IsTakenByOtherKind;
  readonly cluster: string;
}

type StepOf<K extends RancherStep["kind"]> = Extract<RancherStep, { readonly kind: K }>;

export async function applyStep(context: ApplyContext, step: RancherStep, call: Call): Promise<StepOutcome> {
  const { api } = context;
  switch (step.kind) {
    case "create load balancer":
      return createBalancer(api, step, call);
    case "create service":
      return createShared(context, step, call);
    case "change":
      await api.send("PUT", `PUT (${step.do})`, step.link, call, step.body);
      return done();
    case "act":
      await api.send("POST", `POST (${step.do})`, step.link, call, step.body ?? {});
      return step.isRetry === true
        ? inProgress(`${step.on ?? "it"} to become active`, { checkAfter: seconds(30) })
        : done();
    case "adopt":
      return adopt(context, step, call);
    case "remove":
      return deletedWithProof(api.send("DELETE", `DELETE (${step.do})`, step.link, call), async () => {
        const operation = "GET loadBalancerService";
        // Rancher shows removed objects for some time.
        if (isGoing(await api.read<Resource>(operation, step.link, call)))
          throw new CloudError("not-found", `${step.link} is removed`, { operation });
      });
    case "remove unused":
      return removeUnused(context, step, call);
  }
}

type Marked = Resource & Pick<ApiLoadBalancer, "metadata">;

/**
 * The plan was made from a listing, and another cluster may have adopted the load balancer since then: the next plan then
 * sees the mark of that cluster.
 */
async function adopt(
  { api, cluster }: ApplyContext,
  { do: title, link, owner }: StepOf<"adopt">,
  call: Call,
): Promise<StepOutcome> {
  const found = await api.read<Marked>("GET loadBalancerService", link, call);
  const { metadata } = found;
  const isTaken = markedOwner(metadata) !== undefined || clusterOf(metadata) !== undefined;
  if (!isTaken && !isGoing(found))
    await api.send("PUT", `PUT (${title})`, link, call, { metadata: metadataOf(cluster, owner, metadata) });
  return done();
}

const isNameTaken = (error: unknown): error is CloudError => codeOf(error) === "NotUnique";

/** The error proves that nothing was created. A removed load balancer keeps its name for some seconds. */
function refusal(error: CloudError): CloudError {
  return new CloudError(error.kind, error.message, { ...error.detail, retryAfter: { in: seconds(5) } });
}

async function createBalancer(
  api: RancherApi,
  { body, stack }: StepOf<"create load balancer">,
  call: Call,
): Promise<StepOutcome> {
  const place = stack === undefined ? {} : { stackId: await ensureStack(api, stack, call) };
  try {
    await api.create("loadBalancerService", { ...body, ...place }, call);
    return done();
  } catch (error) {
    throw CloudError.is(error) && error.kind === "conflict" ? refusal(error) : error;
  }
}

/** Several Services may need the stack at the same time. */
async function ensureStack(api: RancherApi, name: string, call: Call): Promise<string> {
  const found = await findStack(api, name, call);
  if (found !== undefined) return found.id;
  try {
    const body = { name, externalId: `${name}://`, startOnCreate: true };
    return (await api.create<ApiStack>("stack", body, call)).id;
  } catch (error) {
    if (!isNameTaken(error)) throw error;
    const other = await findStack(api, name, call);
    if (other === undefined) throw refusal(error);
    return other.id;
  }
}

async function createShared(
  { api, isTakenByOtherKind }: ApplyContext,
  { on = "", body, nodes }: StepOf<"create service">,
  call: Call,
): Promise<StepOutcome> {
  try {
    await api.create("externalService", body, call);
    return done();
  } catch (error) {
    if (!isNameTaken(error)) throw error;
    // Another Service has created the external service at the same time, or it is being removed: a later plan sees which.
    if (!(await isTakenByOtherKind(on, body.stackId, call)))
      return inProgress(`external service ${on}, which exists in Rancher`);
    const text = `Another kind of service in Rancher has the name ${on} in the stack of the load balancer. Rename it or the Node.`;
    return done(
      undefined,
      nodes.map((node) => ({ node, text, retryAfter: seconds(5) })),
    );
  }
}

/**
 * Since the listing on which the plan is based, other load balancers may have begun to use the external service, or removed
 * it. Its users are read last: load balancers of this cluster use it without a change of its mark.
 */
async function removeUnused(
  { api, cluster }: ApplyContext,
  { do: title, link, consumers, user, isLeftover }: StepOf<"remove unused">,
  call: Call,
): Promise<StepOutcome> {
  try {
    const service = await api.read<Marked>("GET externalService", link, call);
    const marked = clusterOf(service.metadata);
    if (isGoing(service) || (marked !== undefined && marked !== cluster)) return done();
    const pages = api.listAt<Marked>("GET consumedbyservices", consumers, call);
    const users = (await collect(pages)).filter((one) => one.id !== user && !isGoing(one));
    // An unmarked load balancer may be released and adopted again.
    const isOfOthers = users.every(({ metadata }) => ![undefined, cluster].includes(clusterOf(metadata)));
    if (users.length === 0) await api.send("DELETE", `DELETE (${title})`, link, call);
    // The external service belongs to its other users, and the last one removes it.
    else if (marked === cluster && (isLeftover || isOfOthers)) {
      const body = { metadata: withoutMark(service.metadata) };
      await api.send("PUT", "PUT (release external service)", link, call, body);
    }
    return done();
  } catch (error) {
    // Another load balancer is removing the external service.
    if (CloudError.is(error) && (error.kind === "not-found" || error.kind === "busy")) return done();
    throw error;
  }
}
