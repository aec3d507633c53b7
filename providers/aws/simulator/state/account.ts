// The state of the account: a VPC with subnets, a route table and security groups, and its instances.

import { type Milliseconds, milliseconds } from "#ccm";
import { type Clock, type DueWork, Ids } from "#ccm/testing";
import { ClassicBalancers, type Vpc } from "./classic-balancers.ts";
import { NetworkBalancers } from "./network-balancers.ts";
import {
  type Instance,
  type NewInstance,
  Resources,
  type RouteTable,
  type SecurityGroup,
  type Snapshot,
  type Subnet,
  type Tagged,
  type Volume,
} from "./resources.ts";

/** The durations of the cloud's actions. */
export interface AccountTimes {
  /** Until a new instance runs. */
  readonly boot: Milliseconds;
  /** Until the change of a volume ends. */
  readonly change: Milliseconds;
}

export const region = "us-west-2";
export const zones = ["a", "b", "c"].map((letter, index) => ({
  name: region + letter,
  id: `usw2-az${index + 1}`,
}));

export class Account {
  readonly ids: Ids;
  readonly later: DueWork;
  readonly times: AccountTimes;
  readonly vpc = "vpc-00000000000000001";
  readonly instances: Resources<Instance>;
  readonly subnets: Resources<Subnet>;
  readonly tables: Resources<RouteTable>;
  readonly groups: Resources<SecurityGroup>;
  readonly volumes: Resources<Volume>;
  readonly snapshots: Resources<Snapshot>;
  /** The requests behind the tokens of new volumes. */
  readonly tokens = new Map<string, { readonly written: string; readonly id: string }>();
  readonly rootDevice = "/dev/xvda";
  /** Device names that are in use although EC2 does not show them. */
  readonly hiddenDevices = new Set<string>();
  readonly classic: ClassicBalancers;
  readonly network: NetworkBalancers;
  /** Instances of these types have a position in the network while they run. */
  readonly topologyTypes = /^(hpc|trn|p)\d/;
  /** Instances that requests for tags do not find. */
  readonly untaggable = new Set<string>();
  /** Instances that load balancers reject, for example because they are in another VPC. */
  readonly refused = new Set<string>();
  /** The authorization that containers send for their credentials, if any. */
  containerToken: string | undefined;
  /** The machine whose instance metadata service answers. */
  self: string | undefined;

  constructor(clock: Clock, later: DueWork, times: AccountTimes) {
    this.ids = new Ids(clock);
    this.later = later;
    this.times = times;
    this.instances = new Resources(clock, "InvalidInstanceID.NotFound");
    this.subnets = new Resources(clock, "InvalidSubnetID.NotFound");
    this.tables = new Resources(clock, "InvalidRouteTableID.NotFound");
    this.groups = new Resources(clock, "InvalidGroup.NotFound");
    this.volumes = new Resources(clock, "InvalidVolume.NotFound");
    this.snapshots = new Resources(clock, "InvalidSnapshot.NotFound");
    const view: Vpc = {
      vpc: this.vpc,
      zoneOf: (id) => this.subnets.get(id)?.zone,
      isRunning: (id) => this.instances.get(id)?.state === "running" && !this.refused.has(id),
      hasGroup: (id) => this.groups.get(id) !== undefined,
    };
    this.classic = new ClassicBalancers(view);
    this.network = new NetworkBalancers(view);
    for (const [index, { name: zone }] of zones.entries())
      this.subnets.put({
        id: this.id("subnet"),
        name: zone,
        tags: {},
        vpc: this.vpc,
        zone,
        cidr: `10.0.${index * 64}.0/18`,
        isPublic: true,
      });
    this.groups.put({
      id: this.id("sg"),
      name: "default",
      tags: {},
      vpc: this.vpc,
      description: "default VPC security group",
      rules: [],
    });
    this.addTable({ isMain: true });
  }

  id(kind: string): string {
    return `${kind}-${this.ids.next().toString(16).padStart(17, "0")}`;
  }

  /** The ids of the security groups of load balancers. */
  get groupsOfBalancers(): readonly string[] {
    return [...this.classic.all(), ...this.network.all()].flatMap((one) => one.groups);
  }

  /** All resources that can have tags, by the kinds in which they are stored. */
  get taggable(): readonly Resources<Tagged>[] {
    const all: readonly unknown[] = [
      ...[this.instances, this.subnets, this.tables, this.groups, this.volumes],
      this.snapshots,
    ];
    return all as readonly Resources<Tagged>[];
  }

  addTable(table: Partial<RouteTable> = {}): RouteTable {
    return this.tables.put({
      id: this.id("rtb"),
      name: "",
      tags: {},
      vpc: this.vpc,
      isMain: false,
      subnets: [],
      routes: [
        { destination: "10.0.0.0/16", target: "local" },
        { destination: "0.0.0.0/0", target: "igw-00000000000000001" },
      ],
      ...table,
    });
  }

  /** A running instance. By default, it is in the first subnet, with the default security group. */
  add(name: string, options: NewInstance = {}): Instance {
    const instance = this.instances.put(this.#newInstance(name, options));
    if (this.times.boot > milliseconds(0)) {
      this.instances.change(instance.id, { state: "pending" });
      this.later.add(this.times.boot, () => {
        if (this.instances.get(instance.id)?.state === "pending")
          this.instances.change(instance.id, { state: "running" });
      });
    }
    return instance;
  }

  /** EC2 shows a terminated instance for some time; its addresses and its interfaces are gone. */
  terminate(which: string): void {
    this.instances.change(which, { state: "terminated", interfaces: [], ip: undefined });
  }

  #newInstance(name: string, options: NewInstance): Instance {
    const { ipv4, ...changes } = options;
    const [first] = this.subnets.list();
    const subnet = this.subnets.existing(options.subnet ?? first?.id ?? "");
    const number = this.ids.next();
    const own = `10.0.${Math.floor(number / 250) % 64}.${(number % 250) + 4}`;
    const device = {
      id: this.id("eni"),
      status: "in-use",
      device: 0,
      ipv4: ipv4 ?? [own],
      ipv6: [],
    } as const;
    return {
      id: this.id("i"),
      name,
      tags: {},
      type: "m5.large",
      state: "running",
      vpc: subnet.vpc,
      zone: subnet.zone,
      groups: this.groups.list().flatMap(({ id, name: group }) => (group === "default" ? [String(id)] : [])),
      interfaces: [device],
      ip: undefined,
      publicName: undefined,
      sourceDestCheck: true,
      ...changes,
      subnet: String(subnet.id),
    };
  }
}
