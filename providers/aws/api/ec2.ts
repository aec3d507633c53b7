// The EC2 calls that Fairlead makes, with the names and parameters of AWS's API reference.

import type { Call, Context } from "#ccm";
import { ec2Actions } from "./actions.ts";
import { type Access, type Paging, type Parameter, QueryApi, type Service } from "./query-api.ts";
import type {
  ApiInstance,
  ApiInstanceTopology,
  ApiModification,
  ApiRouteTable,
  ApiSecurityGroup,
  ApiSnapshot,
  ApiSubnet,
  ApiVolume,
  ApiZone,
} from "./resources.ts";

const service: Service<keyof typeof ec2Actions> = {
  name: "EC2",
  account: "ec2",
  id: "ec2",
  version: "2016-11-15",
  actions: ec2Actions,
};

/** A condition of a listing: the value is one of these. */
export type Filter = { readonly Name: string; readonly Value: readonly string[] };

/** The parameters of a listing: a condition, or ids. */
export interface Wanted {
  readonly Filter?: readonly Filter[];
  readonly [ids: string]: Parameter;
}

/** A tag as requests write it. */
export type Tag = { readonly Key: string; readonly Value: string };

/** A rule as requests write it: its names differ from those of responses. */
export type Permission = {
  readonly IpProtocol: string;
  readonly FromPort?: number | undefined;
  readonly ToPort?: number | undefined;
  readonly IpRanges?: readonly { readonly CidrIp: string; readonly Description?: string }[];
  readonly Ipv6Ranges?: readonly { readonly CidrIpv6: string; readonly Description?: string }[];
  readonly PrefixListIds?: readonly { readonly PrefixListId: string }[];
  readonly Groups?: readonly {
    readonly GroupId: string;
    readonly UserId?: string;
    readonly Description?: string;
  }[];
};

/** A volume as requests write it. */
export type NewVolume = {
  /** If two requests have the same token and the same parameters, the second creates nothing. */
  readonly ClientToken: string;
  readonly AvailabilityZone: string;
  /** The size in GiB. */
  readonly Size: number;
  readonly VolumeType: string;
  readonly SnapshotId?: string | undefined;
  readonly VolumeInitializationRate?: number | undefined;
  readonly Iops?: number | undefined;
  readonly Throughput?: number | undefined;
  readonly Encrypted: boolean;
  readonly KmsKeyId?: string | undefined;
  readonly MultiAttachEnabled: false;
  readonly tags: readonly Tag[];
};

type NewSnapshot = { readonly VolumeId: string; readonly Description: string; readonly tags: readonly Tag[] };

/** The requests that change something for load balancers. */
export interface Ec2Changes {
  readonly CreateSecurityGroup: {
    readonly GroupName: string;
    /** A text of at most 255 characters. */
    readonly GroupDescription: string;
    readonly VpcId: string;
    readonly TagSpecification: readonly [
      { readonly ResourceType: "security-group"; readonly Tag: readonly Tag[] },
    ];
  };
  readonly DeleteSecurityGroup: { readonly GroupId: string };
  readonly AuthorizeSecurityGroupIngress: Ingress;
  readonly RevokeSecurityGroupIngress: Ingress;
  readonly CreateTags: { readonly ResourceId: readonly string[]; readonly Tag: readonly Tag[] };
}

type Route = {
  readonly RouteTableId: string;
  readonly DestinationCidrBlock?: string;
  readonly DestinationIpv6CidrBlock?: string;
};

/** All requests that change something and return no useful value. */
interface AllChanges extends Ec2Changes {
  /** A tag whose value differs stays. */
  readonly DeleteTags: Ec2Changes["CreateTags"];
  readonly CreateRoute: Route & { readonly InstanceId: string };
  readonly DeleteRoute: Route;
  readonly ModifyInstanceAttribute: {
    readonly InstanceId: string;
    readonly SourceDestCheck: { readonly Value: boolean };
  };
  readonly DeleteSnapshot: { readonly SnapshotId: string };
  readonly DeleteVolume: { readonly VolumeId: string };
  readonly AttachVolume: { readonly VolumeId: string; readonly InstanceId: string; readonly Device: string };
  readonly DetachVolume: { readonly VolumeId: string; readonly InstanceId: string };
  readonly ModifyVolume: {
    readonly VolumeId: string;
    readonly Size: number;
    readonly Iops?: number | undefined;
  };
}

type Ingress = { readonly GroupId: string; readonly IpPermissions: readonly Permission[] };

/** The largest page that EC2 accepts. */
const entriesPerPage = 1000;

const cursor = ["NextToken", "nextToken"] as const;
const paging = (list: string, MaxResults?: number): Paging => ({
  list,
  cursor,
  ...(MaxResults !== undefined && { size: { MaxResults } }),
});

export function ec2Api(access: Access, account: Context["account"]) {
  const api = new QueryApi(service, access, account);
  /** EC2 rejects a page size together with ids. */
  const list = <T>(
    action: keyof typeof ec2Actions,
    member: string,
    wanted: Wanted,
    call: Call,
    size?: number,
  ) => {
    const hasIDs = Object.keys(wanted).some((name) => name !== "Filter");
    return api.list<T>(action, wanted, paging(member, hasIDs ? undefined : size), call);
  };
  return {
    /** Lists the instances of all reservations, page by page. */
    instancePages: async function* (wanted: Wanted, call: Call) {
      type Reservation = { readonly instancesSet?: readonly ApiInstance[] | null };
      const size = wanted["InstanceId"] === undefined ? entriesPerPage : undefined;
      for await (const page of api.pages<Reservation>(
        "DescribeInstances",
        wanted,
        paging("reservationSet", size),
        call,
      ))
        yield page.flatMap(({ instancesSet }) => instancesSet ?? []);
    },
    describeAvailabilityZones: (wanted: Wanted, call: Call) =>
      list<ApiZone>("DescribeAvailabilityZones", "availabilityZoneInfo", wanted, call),
    describeInstanceTopology: (wanted: Wanted, call: Call) =>
      list<ApiInstanceTopology>("DescribeInstanceTopology", "instanceSet", wanted, call),
    describeSubnets: (wanted: Wanted, call: Call) =>
      list<ApiSubnet>("DescribeSubnets", "subnetSet", wanted, call, entriesPerPage),
    describeRouteTables: (wanted: Wanted, call: Call) =>
      list<ApiRouteTable>("DescribeRouteTables", "routeTableSet", wanted, call, 100),
    describeSecurityGroups: (wanted: Wanted, call: Call) =>
      list<ApiSecurityGroup>("DescribeSecurityGroups", "securityGroupInfo", wanted, call, entriesPerPage),

    volumePages: (call: Call) =>
      api.pages<ApiVolume>("DescribeVolumes", {}, paging("volumeSet", entriesPerPage), call),
    describeVolumes: (wanted: Wanted, call: Call) =>
      list<ApiVolume>("DescribeVolumes", "volumeSet", wanted, call, entriesPerPage),
    describeVolumesModifications: (wanted: Wanted, call: Call) =>
      list<ApiModification>("DescribeVolumesModifications", "volumeModificationSet", wanted, call),
    snapshotPages: (call: Call) =>
      api.pages<ApiSnapshot>(
        "DescribeSnapshots",
        { Owner: ["self"] },
        paging("snapshotSet", entriesPerPage),
        call,
      ),
    describeSnapshots: (wanted: Wanted, call: Call) =>
      list<ApiSnapshot>("DescribeSnapshots", "snapshotSet", wanted, call),
    createSnapshot: async ({ tags, ...snapshot }: NewSnapshot, call: Call): Promise<string> => {
      const TagSpecification = [{ ResourceType: "snapshot", Tag: tags }];
      const created = await api.call<ApiSnapshot>("CreateSnapshot", { ...snapshot, TagSpecification }, call);
      return created.snapshotId;
    },
    createVolume: async ({ tags, ...volume }: NewVolume, call: Call): Promise<string> => {
      const TagSpecification = [{ ResourceType: "volume", Tag: tags }];
      return (await api.call<ApiVolume>("CreateVolume", { ...volume, TagSpecification }, call)).volumeId;
    },
    change: <A extends keyof AllChanges>(action: A, parameters: AllChanges[A], call: Call) =>
      api.call(action, parameters, call),
  };
}

export type Ec2Api = ReturnType<typeof ec2Api>;
