// The changes of a plan as data: each step has the requests that carry it out, by the names of the API's functions. Pure.

import type { Call, Step } from "#ccm";
import type { Ec2Api } from "./api-ec2.ts";
import type { ElbApi } from "./api-elb.ts";
import type { Elbv2Api } from "./api-elbv2.ts";
import type { Rule } from "./rules.ts";

/** What plans call. */
export interface BalancingApi {
  readonly ec2: Ec2Api;
  readonly elb: ElbApi;
  readonly elbv2: Elbv2Api;
}

/** The functions of an API that return a promise, with their arguments except the call. */
type RequestOf<S extends string, A> = {
  readonly [M in keyof A & string]: A[M] extends (...all: [...infer P, Call]) => Promise<unknown>
    ? readonly [service: S, name: M, ...parameters: P]
    : never;
}[keyof A & string];

type Ec2Request = RequestOf<"ec2", Ec2Api>;
type ElbRequest = RequestOf<"elb", ElbApi>;
type Elbv2Request = RequestOf<"elbv2", Elbv2Api>;
/** A request of a step. Texts in it may be one of `created`: the id of what an earlier request of the step has created. */
export type Request = Ec2Request | ElbRequest | Elbv2Request | Special;

/** Changes of the security groups of Nodes as they are then. */
export type Special =
  /** Adds rules, for a load balancer that is created. */
  | readonly ["open", { readonly lists: readonly (readonly string[])[]; readonly rules: readonly Rule[] }]
  /** Removes rules that no load balancer needs any more. */
  | readonly ["tidy", group: string];

type Parameters<R extends readonly unknown[], M> =
  Extract<R, readonly [unknown, M, ...unknown[]]> extends readonly [unknown, unknown, ...infer P] ? P : never;

export const ec2 = <M extends Ec2Request[1]>(name: M, ...parameters: Parameters<Ec2Request, M>): Request =>
  ["ec2", name, ...parameters] as unknown as Request;
export const elb = <M extends ElbRequest[1]>(name: M, ...parameters: Parameters<ElbRequest, M>): Request =>
  ["elb", name, ...parameters] as unknown as Request;
export const elbv2 = <M extends Elbv2Request[1]>(
  name: M,
  ...parameters: Parameters<Elbv2Request, M>
): Request => ["elbv2", name, ...parameters] as unknown as Request;

/** Stand for the ids that responses return. */
export const created = { group: "{group}", balancer: "{balancer}", targetGroup: "{target group}" } as const;

export interface AwsStep extends Step {
  readonly on: string;
  /** Sent in order. */
  readonly requests: readonly Request[];
  /** It changes targets only. */
  readonly isTargets?: true | undefined;
  /** The last step of a deletion: the load balancer with this name is looked up. */
  readonly proves?: { readonly lb: string; readonly kind: "classic" | "network" } | undefined;
  /** The Nodes of instances that are registered, by id. */
  readonly nodes?: Readonly<Record<string, string>> | undefined;
}
