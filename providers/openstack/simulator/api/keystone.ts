// Keystone: tokens with a lifetime, for an application credential or a password, and the catalog.

import type { Milliseconds } from "#ccm";
import { type Answer, type Clock, type OperationRequest, Refused } from "#ccm/testing";

interface AuthBody {
  readonly auth?: {
    readonly identity?: {
      readonly application_credential?: { readonly id?: string; readonly secret?: string };
      readonly password?: { readonly user?: { readonly name?: string; readonly password?: string } };
    };
    readonly scope?: { readonly project?: { readonly id?: string } };
  };
}

const services = {
  compute: "/compute/v2.1",
  network: "/network",
  "load-balancer": "/load-balancer",
  volumev3: "/volume/v3",
  identity: "/identity/v3",
};

/** Another region, or the region of another project, whose services have a different origin. */
interface OtherPlace {
  readonly region: string;
  /** The project; if absent, the first one. */
  readonly project?: string;
  readonly origin: string;
}

export class Keystone {
  readonly region = "RegionOne";
  readonly others: OtherPlace[] = [];
  readonly #clock: Clock;
  /** Secrets of application credentials by id. */
  readonly applicationCredentials = new Map<string, string>();
  /** Passwords by user name. */
  readonly passwords = new Map<string, string>();
  readonly #ends = new Map<string, number>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Revokes all tokens, as the deletion of an application credential does. */
  revokeTokens(): void {
    this.#ends.clear();
  }

  accepts(token: string | undefined): boolean {
    const end = this.#ends.get(token ?? "");
    return end !== undefined && this.#clock.monotonic() < end;
  }

  /** `POST /v3/auth/tokens`. */
  issue({ body, url }: OperationRequest, first: string, life: Milliseconds): Answer {
    const { identity, scope } = (body as AuthBody | undefined)?.auth ?? {};
    const { id = "", secret } = identity?.application_credential ?? {};
    const { name = "", password } = identity?.password?.user ?? {};
    const isApplication = identity?.application_credential !== undefined;
    if (isApplication && scope !== undefined)
      throw new Refused(401, "Application credentials cannot request a scope.");
    const known = isApplication ? this.applicationCredentials.get(id) : this.passwords.get(name);
    if (known === undefined || known !== (isApplication ? secret : password))
      throw new Refused(401, "The request you have made requires authentication.");
    this.#last += 1;
    const token = `token-${this.#last}`;
    this.#ends.set(token, this.#clock.monotonic() + life);
    const project = scope?.project?.id ?? first;
    const own = { region: this.region, project: first, origin: url.origin };
    const places = [own, ...this.others].filter((one) => (one.project ?? first) === project);
    const catalog = Object.entries(services).map(([type, path]) => ({
      type,
      name: type,
      endpoints: places.flatMap(({ region, origin }) =>
        ["public", "internal", "admin"].map((one) => ({
          interface: one,
          region,
          region_id: region,
          url: origin + path,
        })),
      ),
    }));
    const expires_at = new Date(this.#clock.now() + life).toISOString();
    return {
      status: 201,
      headers: { "x-subject-token": token },
      body: { token: { expires_at, project: { id: project, name: "demo" }, catalog } },
    };
  }
}
