// EC2 objects, with the fields in use, named as in EC2's responses. An empty element is null.

/** A member that a response may lack. */
export type Maybe<T> = T | null | undefined;

/** Members with a text that a response may lack. */
export type Texts<N extends string> = { readonly [K in N]?: Maybe<string> };

/** Lists that a response may lack. */
export type Lists<L extends object> = { readonly [K in keyof L]?: Maybe<readonly L[K][]> };

/** Tags as Elastic Load Balancing writes them. */
export type ApiTags = Lists<{ Tags: { readonly Key: string } & Texts<"Value"> }>;

/** A tag as EC2 writes it. */
export interface ApiTag extends Texts<"value"> {
  readonly key: string;
}

type Tagged = Lists<{ tagSet: ApiTag }>;

export interface ApiInterface
  extends Texts<"status">,
    Lists<{ privateIpAddressesSet: Texts<"privateIpAddress">; ipv6AddressesSet: Texts<"ipv6Address"> }> {
  readonly attachment?: Maybe<Texts<"deviceIndex">>;
}

/** An instance, whose `ipAddress` is the public address. */
export interface ApiInstance
  extends Tagged,
    Texts<
      "instanceType" | "privateDnsName" | "dnsName" | "ipAddress" | "vpcId" | "subnetId" | "sourceDestCheck"
    >,
    Lists<{
      groupSet: { readonly groupId: string };
      networkInterfaceSet: ApiInterface;
      blockDeviceMapping: Texts<"deviceName">;
    }> {
  readonly instanceId: string;
  readonly instanceState?: Maybe<Texts<"name">>;
  readonly stateReason?: Maybe<Texts<"code">>;
  readonly placement?: Maybe<Texts<"availabilityZone">>;
}

/** A zone of the type `availability-zone`, `local-zone` or `wavelength-zone`. */
export interface ApiZone extends Texts<"zoneId" | "zoneType"> {
  readonly zoneName: string;
}

export interface ApiInstanceTopology extends Lists<{ networkNodeSet: string }> {
  readonly instanceId: string;
}

export interface ApiSubnet
  extends Texts<"availabilityZone" | "cidrBlock">,
    Tagged,
    Lists<{ ipv6CidrBlockAssociationSet: Texts<"ipv6CidrBlock"> }> {
  readonly subnetId: string;
}

/** A route, whose origin is `CreateRoute` or another cause. */
export type ApiRoute = Texts<
  "destinationCidrBlock" | "destinationIpv6CidrBlock" | "gatewayId" | "instanceId" | "state" | "origin"
>;

export interface ApiRouteTable
  extends Tagged,
    Lists<{ routeSet: ApiRoute; associationSet: Texts<"main" | "subnetId"> }> {
  readonly routeTableId: string;
}

/** A rule of a security group as EC2 shows it: one protocol and range, with all its peers. */
export interface ApiPermission
  extends Texts<"fromPort" | "toPort">,
    Lists<{
      ipRanges: { readonly cidrIp: string } & Texts<"description">;
      ipv6Ranges: { readonly cidrIpv6: string } & Texts<"description">;
      prefixListIds: { readonly prefixListId: string };
      groups: Texts<"groupId" | "description">;
    }> {
  /** The name or the number of the protocol, or -1 for all. */
  readonly ipProtocol: string;
}

export interface ApiSecurityGroup
  extends Texts<"groupName" | "groupDescription" | "vpcId">,
    Tagged,
    Lists<{ ipPermissions: ApiPermission }> {
  readonly groupId: string;
}

/**
 * A volume. The size is in GiB. The status is `creating`, `available`, `in-use`, `deleting`, `deleted` or `error`; the status of
 * an attachment is `attaching`, `attached`, `detaching` or `detached`, or `busy` while the machine does not release the volume.
 */
export interface ApiVolume
  extends Texts<"size" | "availabilityZone" | "volumeType" | "status">,
    Tagged,
    Lists<{ attachmentSet: Texts<"instanceId" | "device" | "status"> }> {
  readonly volumeId: string;
}

/** A modification in the state `modifying`, `optimizing`, `completed` or `failed`. */
export interface ApiModification extends Texts<"modificationState"> {
  readonly volumeId: string;
}

/**
 * A snapshot. A copy has the id of a volume that does not exist. The size is in GiB. The status is `pending`, `completed`,
 * `error`, or the status of an archived snapshot.
 */
export interface ApiSnapshot extends Texts<"volumeId" | "volumeSize" | "startTime" | "status">, Tagged {
  readonly snapshotId: string;
}
