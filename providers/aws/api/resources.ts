// The objects of EC2, with the fields in use, by the names of its responses. An empty element is null.

/** A member that a response may lack. */
export type Maybe<T> = T | null | undefined;

export interface ApiTag {
  readonly key: string;
  readonly value?: Maybe<string>;
}

export interface ApiInterface {
  readonly networkInterfaceId: string;
  readonly status?: Maybe<string>;
  readonly attachment?: Maybe<{ readonly deviceIndex?: Maybe<string> }>;
  readonly privateIpAddressesSet?: Maybe<readonly { readonly privateIpAddress?: Maybe<string> }[]>;
  readonly ipv6AddressesSet?: Maybe<readonly { readonly ipv6Address?: Maybe<string> }[]>;
}

export interface ApiInstance {
  readonly instanceId: string;
  readonly instanceType?: Maybe<string>;
  readonly instanceState?: Maybe<{ readonly name?: Maybe<string> }>;
  readonly placement?: Maybe<{ readonly availabilityZone?: Maybe<string> }>;
  readonly privateDnsName?: Maybe<string>;
  readonly dnsName?: Maybe<string>;
  /** The public one. */
  readonly ipAddress?: Maybe<string>;
  readonly privateIpAddress?: Maybe<string>;
  readonly vpcId?: Maybe<string>;
  readonly subnetId?: Maybe<string>;
  readonly sourceDestCheck?: Maybe<string>;
  readonly groupSet?: Maybe<readonly { readonly groupId: string; readonly groupName?: Maybe<string> }[]>;
  readonly networkInterfaceSet?: Maybe<readonly ApiInterface[]>;
  readonly blockDeviceMapping?: Maybe<readonly { readonly deviceName?: Maybe<string> }[]>;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}

export interface ApiZone {
  readonly zoneName: string;
  readonly zoneId?: Maybe<string>;
  /** `availability-zone`, `local-zone` or `wavelength-zone`. */
  readonly zoneType?: Maybe<string>;
}

export interface ApiInstanceTopology {
  readonly instanceId: string;
  readonly networkNodeSet?: Maybe<readonly string[]>;
}

export interface ApiSubnet {
  readonly subnetId: string;
  readonly vpcId?: Maybe<string>;
  readonly availabilityZone?: Maybe<string>;
  readonly cidrBlock?: Maybe<string>;
  readonly ipv6CidrBlockAssociationSet?: Maybe<readonly { readonly ipv6CidrBlock?: Maybe<string> }[]>;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}

export interface ApiRoute {
  readonly destinationCidrBlock?: Maybe<string>;
  readonly destinationIpv6CidrBlock?: Maybe<string>;
  readonly gatewayId?: Maybe<string>;
  readonly instanceId?: Maybe<string>;
  readonly state?: Maybe<string>;
  /** `CreateRoute`, or what else made it. */
  readonly origin?: Maybe<string>;
}

export interface ApiRouteTable {
  readonly routeTableId: string;
  readonly vpcId?: Maybe<string>;
  readonly routeSet?: Maybe<readonly ApiRoute[]>;
  readonly associationSet?: Maybe<
    readonly { readonly main?: Maybe<string>; readonly subnetId?: Maybe<string> }[]
  >;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}

/** A rule of a security group as EC2 shows it: one protocol and range, with all its peers. */
export interface ApiPermission {
  /** A name, a number, or -1 for all. */
  readonly ipProtocol: string;
  readonly fromPort?: Maybe<string>;
  readonly toPort?: Maybe<string>;
  readonly ipRanges?: Maybe<readonly { readonly cidrIp: string; readonly description?: Maybe<string> }[]>;
  readonly ipv6Ranges?: Maybe<readonly { readonly cidrIpv6: string; readonly description?: Maybe<string> }[]>;
  readonly prefixListIds?: Maybe<readonly { readonly prefixListId: string }[]>;
  readonly groups?: Maybe<
    readonly {
      readonly groupId?: Maybe<string>;
      readonly userId?: Maybe<string>;
      readonly description?: Maybe<string>;
    }[]
  >;
}

export interface ApiSecurityGroup {
  readonly groupId: string;
  readonly groupName?: Maybe<string>;
  readonly groupDescription?: Maybe<string>;
  readonly vpcId?: Maybe<string>;
  readonly ipPermissions?: Maybe<readonly ApiPermission[]>;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}

export interface ApiVolume {
  readonly volumeId: string;
  /** In GiB. */
  readonly size?: Maybe<string>;
  readonly availabilityZone?: Maybe<string>;
  readonly volumeType?: Maybe<string>;
  /** `creating`, `available`, `in-use`, `deleting`, `deleted` or `error`. */
  readonly status?: Maybe<string>;
  readonly attachmentSet?: Maybe<
    readonly {
      readonly instanceId?: Maybe<string>;
      readonly device?: Maybe<string>;
      /** `attaching`, `attached`, `detaching` or `detached`; `busy` while the machine does not let it go. */
      readonly status?: Maybe<string>;
    }[]
  >;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}

export interface ApiModification {
  readonly volumeId: string;
  /** `modifying`, `optimizing`, `completed` or `failed`. */
  readonly modificationState?: Maybe<string>;
}

export interface ApiSnapshot {
  readonly snapshotId: string;
  /** One that does not exist for a copy of a snapshot. */
  readonly volumeId?: Maybe<string>;
  /** In GiB. */
  readonly volumeSize?: Maybe<string>;
  readonly startTime?: Maybe<string>;
  /** `pending`, `completed`, `error`, or that of an archived one. */
  readonly status?: Maybe<string>;
  readonly tagSet?: Maybe<readonly ApiTag[]>;
}
