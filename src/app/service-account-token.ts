// A token of a service account in kube-system, for --use-service-account-credentials. Requested on first use and renewed after
// four fifths of its lifetime, as in upstream. A missing account is created.

import { type Milliseconds, milliseconds, minutes, seconds } from "../core/brand.ts";
import type { KubeApi } from "../kube/client/api.ts";
import { isKubeError, KubeError, undefinedIf } from "../kube/errors/kube-error.ts";
import { serviceAccounts } from "../kube/resources.ts";
import type { Clock } from "../platform/clock.ts";
import type { ControllerName } from "./flags/controller-names.ts";

export const accountNamespace = "kube-system";

/**
 * Upstream's names, for which the API server has the role `system:controller:NAME`. A controller
 * without an account uses the process's identity.
 */
export const accountOf: Readonly<Partial<Record<string, string>>> = {
  "cloud-node": "node-controller",
  "cloud-node-lifecycle": "node-controller",
  service: "service-controller",
  "node-route": "route-controller",
} satisfies Partial<Record<ControllerName, string>>;

const requestedLifetime = seconds(3600);
const shortestLifetime = minutes(10);
const usedPart = 0.8;

interface Issued {
  readonly metadata?: { readonly creationTimestamp?: string };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** Calculated with the API server's clock, which wrote both times. */
function lifetimeOf({ metadata, status }: Issued): Milliseconds {
  const lifetime =
    Date.parse(status?.expirationTimestamp ?? "") - Date.parse(metadata?.creationTimestamp ?? "");
  return milliseconds(Math.max(shortestLifetime, Number.isNaN(lifetime) ? 0 : lifetime));
}

export class ServiceAccountToken {
  readonly #api: Pick<KubeApi, "create" | "request">;
  readonly #clock: Clock;
  readonly #name: string;
  #token: { readonly value: string; readonly renewAt: number } | undefined;
  #pending: Promise<string> | undefined;

  /** `api` has the identity of the process. */
  constructor(name: string, api: Pick<KubeApi, "create" | "request">, clock: Clock) {
    this.#name = name;
    this.#api = api;
    this.#clock = clock;
  }

  /** All waiting callers share one request. */
  current(signal: AbortSignal): Promise<string> {
    if (this.#token !== undefined && this.#clock.monotonic() < this.#token.renewAt)
      return Promise.resolve(this.#token.value);
    this.#pending ??= this.#request(signal).finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** The API server rejected the token. */
  invalidate(): void {
    this.#token = undefined;
  }

  async #request(signal: AbortSignal): Promise<string> {
    const asked = this.#clock.monotonic();
    const issued = await this.#issue(signal).catch(async (error: unknown) => {
      if (!isKubeError(error, "not-found")) throw error;
      await this.#createAccount(signal);
      return this.#issue(signal);
    });
    const value = issued.status?.token ?? "";
    if (value === "")
      throw new KubeError(
        "unexpected",
        `The API server issued no token for ${accountNamespace}/${this.#name}.`,
        {
          operation: "create serviceaccounts/token",
        },
      );
    this.#token = { value, renewAt: asked + lifetimeOf(issued) * usedPart };
    return value;
  }

  async #issue(signal: AbortSignal): Promise<Issued> {
    const path = `/api/v1/namespaces/${accountNamespace}/serviceaccounts/${this.#name}/token`;
    const body = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      spec: { expirationSeconds: requestedLifetime / 1000 },
    };
    const object = `${accountNamespace}/${this.#name}`;
    const issued = await this.#api.request(
      { verb: "create", resource: "serviceaccounts/token", object, path, body },
      signal,
    );
    return issued as Issued;
  }

  async #createAccount(signal: AbortSignal): Promise<void> {
    const metadata = { name: this.#name, namespace: accountNamespace };
    // Another replica or kube-controller-manager may have created the account in the meantime.
    await this.#api.create(serviceAccounts, { metadata }, signal).catch(undefinedIf("already-exists"));
  }
}
