// The state of an account, and pending work.

import type { Milliseconds } from "#ccm";
import { type Clock, type DueWork, Ids, Records, type Stored } from "#ccm/testing";
import { type Balancer, Balancers } from "./balancers.ts";
import { type Certificate, Certificates } from "./certificates.ts";
import { Droplets } from "./droplets.ts";
import type { Firewall } from "./firewalls.ts";
import type { Action, Snapshot, Volume } from "./volumes.ts";

export interface AccountTimes {
  /** The time during which a load balancer is `new`, and a certificate of Let's Encrypt `pending`. */
  activation: Milliseconds;
  /** The time during which a load balancer rejects changes after a change, and the duration of a volume action. */
  change: Milliseconds;
  /** The time during which a droplet is `new`. */
  boot: Milliseconds;
}

export interface Vpc extends Stored {
  readonly id: string;
  readonly urn: string;
  readonly description: string;
  readonly region: string;
  readonly ip_range: string;
  readonly created_at: string;
  readonly default: boolean;
}

export class Account {
  readonly ids: Ids;
  readonly later: DueWork;
  readonly times: AccountTimes;
  readonly droplets: Droplets;
  readonly balancers: Balancers;
  readonly certificates: Certificates;
  readonly firewalls: Records<Firewall>;
  readonly vpcs: Records<Vpc>;
  readonly volumes: Records<Volume>;
  readonly snapshots: Records<Snapshot>;
  /** csi-sanity uses other names. */
  volumeName = /^[a-z][a-z0-9-]{0,63}$/;
  /** Volume actions. */
  readonly actions: Records<Action>;
  /** The id of a tag is its name. */
  readonly tags: Records<Stored>;
  /** The error text for a rejected droplet. Its text is not documented; by default it names the droplet. */
  refusalOfDroplets: string | undefined;
  /** The number of changes that a load balancer processes, by id. */
  readonly #busy = new Map<string, number>();

  constructor(later: DueWork, clock: Clock, times: AccountTimes) {
    const ids = new Ids(clock, 3_000_000);
    this.ids = ids;
    this.times = times;
    this.later = later;
    this.droplets = new Droplets(ids);
    this.balancers = new Balancers(ids);
    this.certificates = new Certificates(ids);
    this.firewalls = new Records(clock);
    this.vpcs = new Records(clock);
    this.volumes = new Records(clock);
    this.snapshots = new Records(clock);
    this.actions = new Records(clock);
    this.tags = new Records(clock);
  }

  /** Creates the tags that do not exist. Ignores case, and returns the tags as they were first spelled. */
  addTags(names: readonly string[]): readonly string[] {
    return names.map((name) => {
      const known = this.tags.list().find((tag) => tag.name.toLowerCase() === name.toLowerCase());
      return (known ?? this.tags.put({ id: name, name })).name;
    });
  }

  /** Renews a certificate under a new id, including in load balancers. The previous certificate is gone. Returns the new one. */
  renew(which: string): Certificate {
    const { id: before, name, type, dns_names } = this.certificates.existing(which);
    this.certificates.remove(before);
    const renewed = this.certificates.add(name, { type, dns_names });
    for (const { id, forwarding_rules } of this.balancers.list()) {
      const rules = forwarding_rules.map((rule) =>
        rule.certificate_id === before ? { ...rule, certificate_id: renewed.id } : rule,
      );
      this.balancers.change(id, { forwarding_rules: rules });
    }
    return renewed;
  }

  isBusy({ id, status }: Balancer): boolean {
    return status === "new" || (this.#busy.get(id) ?? 0) > 0;
  }

  /** Lets a load balancer reject changes for some time. */
  occupy(id: string): void {
    const count = (by: number) => this.#busy.set(id, (this.#busy.get(id) ?? 0) + by);
    count(1);
    this.later.add(this.times.change, () => count(-1));
  }

  activate(id: string): void {
    this.later.add(this.times.activation, () => {
      const balancer = this.balancers.get(id);
      if (balancer?.status !== "new") return;
      this.balancers.put({ ...balancer, ...this.balancers.addresses(balancer), status: "active" });
    });
  }
}
