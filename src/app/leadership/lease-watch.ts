// Watches the Lease of the leader election, so that a standby replica takes over as soon as the leader releases it. Without the
// permission to watch, a takeover takes up to one retry period longer.

import { type Milliseconds, minutes, seconds } from "../../core/brand.ts";
import type { KubeApi } from "../../kube/client/api.ts";
import type { KubeError } from "../../kube/errors/kube-error.ts";
import { holderOf } from "../../kube/leader-election/lease-record.ts";
import type { Lease } from "../../kube/objects.ts";
import { leases } from "../../kube/resources.ts";
import { Reflector } from "../../kube/watch/reflector.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Random } from "../../platform/random.ts";
import type { Task } from "../../runtime/run-together.ts";
import type { Log } from "../../telemetry/log.ts";

export interface LeaseWatchOptions {
  readonly api: KubeApi;
  /** For checking the permissions: in the reserved lane, without a write gate. */
  readonly reserved: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly namespace: string;
  readonly name: string;
  /** The Lease has no holder, or was deleted. */
  readonly onFree: () => void;
}

/** A working watch has an event, a reconnect or a failure every few minutes. */
const stalledAfter = minutes(10);

export function isStalled(idle: Milliseconds | undefined): boolean {
  return idle !== undefined && idle > stalledAfter;
}

export class LeaseWatch implements Task {
  readonly name = "lease watch";
  readonly #options: LeaseWatchOptions;
  readonly #reflector: Reflector<Lease>;
  #isReported = false;
  #stop: AbortSignal | undefined;

  constructor(options: LeaseWatchOptions) {
    const { api, clock, random, namespace, name, onFree } = options;
    this.#options = options;
    this.#reflector = new Reflector<Lease>({
      api,
      resource: leases,
      clock,
      random,
      namespace,
      fieldSelector: `metadata.name=${name}`,
      onProblem: (problem) => this.#report(problem),
    });
    this.#reflector.store.subscribe(({ after }) => {
      if (after === undefined || holderOf(after) === "") onFree();
    });
  }

  /** Time since anything happened to the watch, failures included; undefined before it starts. */
  get idle(): Milliseconds | undefined {
    return this.#reflector.idle();
  }

  run(stop: AbortSignal): Promise<void> {
    this.#stop = stop;
    return this.#reflector.run(stop);
  }

  /** Other problems also fail the election, which reports them. */
  #report({ kind, message }: KubeError): void {
    const { log, namespace, name } = this.#options;
    if (kind !== "forbidden" || this.#isReported) return;
    this.#isReported = true;
    log.warn(
      `Cannot watch the Lease ${namespace}/${name}, so a takeover takes up to one retry period longer: ${message}`,
    );
    void this.#reportPermissions();
  }

  async #reportPermissions(): Promise<void> {
    const { reserved, log, namespace, name } = this.#options;
    if (this.#stop === undefined) return;
    // If even this check is forbidden, the election reports what it needs.
    const missing = await missingLeasePermissions(reserved, { namespace, name }, this.#stop).catch(
      () => undefined,
    );
    if (missing !== undefined) log.error(missing);
  }
}

// Asks the API server which permissions leader election is missing, so that one message names all of them. An attempt to acquire the
// Lease fails at the first one.

const verbs = ["get", "create", "update"] as const;

const group = "authorization.k8s.io";
const plural = "selfsubjectaccessreviews";

export interface LeaseName {
  readonly namespace: string;
  readonly name: string;
}

/** Undefined if no permission is missing. Throws if the API server does not answer. */
export async function missingLeasePermissions(
  api: Pick<KubeApi, "request">,
  { namespace, name }: LeaseName,
  signal: AbortSignal,
): Promise<string | undefined> {
  const isAllowed = async (verb: (typeof verbs)[number]): Promise<boolean> => {
    // RBAC cannot restrict create to a resource name.
    const named = verb === "create" ? {} : { name };
    const resourceAttributes = {
      verb,
      group: "coordination.k8s.io",
      resource: "leases",
      namespace,
      ...named,
    };
    const reply = (await api.request(
      {
        verb: "create",
        resource: plural,
        path: `/apis/${group}/v1/${plural}`,
        body: {
          apiVersion: `${group}/v1`,
          kind: "SelfSubjectAccessReview",
          metadata: {},
          spec: { resourceAttributes },
        },
        deadline: seconds(10),
      },
      signal,
    )) as { readonly status?: { readonly allowed?: boolean } } | undefined;
    return reply?.status?.allowed !== false;
  };
  const allowed = await Promise.all(verbs.map(isAllowed));
  const missing = verbs.filter((_, at) => allowed[at] === false);
  // If only create is missing, an existing Lease still works.
  if (missing.every((verb) => verb === "create")) return undefined;
  return `Missing permissions for leader election: ${missing.join(", ")} on the Lease ${namespace}/${name}, so this replica cannot become leader. Grant get, create and update as in deploy/rbac.yaml, and check the subject of the RoleBinding.`;
}
