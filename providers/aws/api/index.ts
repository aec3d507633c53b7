// AWS's APIs, with one account for each service.

import type { Context } from "#ccm";
import { ec2Api } from "./ec2.ts";
import { elbApi } from "./elb.ts";
import { elbv2Api } from "./elbv2.ts";
import type { Access } from "./query-api.ts";

export function awsApi(access: Access, account: Context["account"]) {
  return { ec2: ec2Api(access, account), elb: elbApi(access, account), elbv2: elbv2Api(access, account) };
}

export type AwsApi = ReturnType<typeof awsApi>;
