// The security token service: keys of assumed roles.

import { Refused } from "#ccm/testing";
import { type SentParameters, textIn } from "../query.ts";
import type { Account } from "../state/account.ts";
import type { QueryOperations } from "./operations.ts";

const life = 3_600_000;

export function stsOperations(
  account: Account,
  keys: Map<string, { readonly secret: string; readonly endsAt?: number }>,
): QueryOperations {
  const assume = (parameters: SentParameters) => {
    const role = textIn(parameters["RoleArn"]) ?? "";
    if (!role.startsWith("arn:")) throw new Refused(400, `${role} is invalid`, "ValidationError");
    if (textIn(parameters["WebIdentityToken"]) === "expired")
      throw new Refused(400, "Token expired", "ExpiredTokenException");
    const AccessKeyId = account.id("ASIA");
    const endsAt = account.ids.clock.now() + life;
    const SecretAccessKey = `secret-of-${AccessKeyId}`;
    keys.set(AccessKeyId, { secret: SecretAccessKey, endsAt });
    const SessionToken = `token-of-${AccessKeyId}`;
    const Expiration = new Date(endsAt).toISOString();
    return { Credentials: { AccessKeyId, SecretAccessKey, SessionToken, Expiration } };
  };
  return { "sts:AssumeRole": assume, "sts:AssumeRoleWithWebIdentity": assume };
}
