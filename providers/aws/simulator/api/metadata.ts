// The instance metadata service of one machine, in its second version, and the credentials of containers.

import { type Answer, Refused, type SimulatedRequest } from "#ccm/testing";
import { type Account, region } from "../state/account.ts";

const token = "metadata-token";
const role = "node-role";
const credentialsPath = "/latest/meta-data/iam/security-credentials/";
/** How long the machine role's credentials are valid. */
const life = 6 * 3_600_000;

type Keys = Map<string, { readonly secret: string; readonly endsAt?: number }>;

/** A new key of the role. */
function newKey(account: Account, keys: Keys): string {
  const AccessKeyId = account.id("ASIA");
  const endsAt = account.ids.clock.now() + life;
  const SecretAccessKey = `secret-of-${AccessKeyId}`;
  keys.set(AccessKeyId, { secret: SecretAccessKey, endsAt });
  const Expiration = new Date(endsAt).toISOString();
  return JSON.stringify({ AccessKeyId, SecretAccessKey, Token: `token-of-${AccessKeyId}`, Expiration });
}

/** The path of container credentials. */
export const containerPath = "/v2/credentials";

/** ECS credentials without a token, or EKS credentials with a token. */
export function containerAnswer(account: Account, keys: Keys, { authorization }: SimulatedRequest): Answer {
  const isValid = authorization === account.containerToken;
  return isValid ? { status: 200, body: newKey(account, keys) } : { status: 401 };
}

/** Keys of the role are added to `keys`. */
export function metadataAnswer(
  account: Account,
  keys: Keys,
  { method, url: { pathname }, header = () => undefined }: SimulatedRequest,
): Answer {
  const text = (body: string): Answer => ({ status: 200, body, headers: { "content-type": "text/plain" } });
  const self = account.instances.get(account.self ?? "");
  if (self === undefined) return { status: 404 };
  if (pathname === "/latest/api/token") return method === "PUT" ? text(token) : { status: 405 };
  if (header("x-aws-ec2-metadata-token") !== token) return { status: 401 };
  if (pathname === credentialsPath) return text(role);
  if (pathname === credentialsPath + role) return text(newKey(account, keys));
  if (pathname === "/latest/dynamic/instance-identity/document")
    return text(JSON.stringify({ instanceId: self.id, region, availabilityZone: self.zone }));
  throw new Refused(404, "not found");
}
