// The resources of the simulated account, and the records that hold them.

import { type Clock, Records, Refused, type Stored } from "#ccm/testing";

/** A resource that can have tags. */
export interface Tagged extends Stored {
  readonly tags: Readonly<Record<string, string>>;
}

export interface Interface {
  readonly id: string;
  readonly status: "in-use" | "available";
  readonly device: number;
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
}

/** An instance. `name` is its private DNS name, under which kubelets register. */
export interface Instance extends Tagged {
  readonly id: string;
  readonly type: string;
  readonly state: "pending" | "running" | "shutting-down" | "terminated" | "stopping" | "stopped";
  readonly stateReason?: string;
  readonly vpc: string;
  readonly subnet: string;
  readonly zone: string;
  readonly groups: readonly string[];
  readonly interfaces: readonly Interface[];
  /** The public IP address. */
  readonly ip: string | undefined;
  readonly publicName: string | undefined;
  readonly sourceDestCheck: boolean;
}

export interface NewInstance extends Partial<Omit<Instance, "id" | "name">> {
  /** The addresses of the first interface if it has several. */
  readonly ipv4?: readonly string[];
}

export interface Subnet extends Tagged {
  readonly vpc: string;
  readonly zone: string;
  readonly cidr: string;
  readonly ipv6?: string;
  readonly isPublic: boolean;
}

export interface Route {
  readonly destination: string;
  /** The target: an instance, `local`, or a gateway. */
  readonly target: string;
}

export interface RouteTable extends Tagged {
  readonly vpc: string;
  readonly routes: readonly Route[];
  readonly isMain: boolean;
  /** The subnets that are associated explicitly. */
  readonly subnets: readonly string[];
}

export interface Rule {
  readonly ipProtocol: string;
  readonly fromPort?: string | undefined;
  readonly toPort?: string | undefined;
  /** The peer: a range, or the id of a security group. */
  readonly peer: string;
  readonly description?: string | undefined;
}

export interface SecurityGroup extends Tagged {
  readonly vpc: string;
  readonly description: string;
  readonly rules: readonly Rule[];
}

export interface Volume extends Tagged {
  readonly id: string;
  /** The size in GiB. */
  readonly size: number;
  readonly zone: string;
  readonly type: string;
  readonly iops: string | undefined;
  readonly throughput: string | undefined;
  readonly encrypted: boolean;
  readonly state: "creating" | "available" | "in-use" | "deleting" | "deleted";
  readonly attachments: readonly {
    readonly instance: string;
    readonly device: string;
    readonly state: "attaching" | "attached" | "detaching";
  }[];
  /** Data that machines have written to it. */
  readonly data: string;
  readonly modification: "modifying" | "optimizing" | "completed" | undefined;
}

export interface Snapshot extends Tagged {
  readonly id: string;
  readonly volume: string;
  /** The size in GiB. */
  readonly size: number;
  readonly startedAt: string;
  readonly state: "pending" | "completed";
  readonly data: string;
}

/** Records whose errors have EC2's codes. */
export class Resources<T extends Tagged> extends Records<T> {
  readonly #code: string;

  constructor(clock: Clock, code: string) {
    super(clock);
    this.#code = code;
  }

  override missing(which: number | string): Error {
    return new Refused(400, `The ID '${which}' does not exist`, this.#code);
  }
}
