// The instance metadata service of one machine, in its second version.

import { type Answer, Refused, type SimulatedRequest } from "#ccm/testing";
import { type Account, region } from "../state/account.ts";

const token = "metadata-token";
const role = "node-role";
const credentialsPath = "/latest/meta-data/iam/security-credentials/";
/** How long the credentials of the machine's role are valid. */
const life = 6 * 3_600_000;

/** Keys of the role are added to `keys`. */
export function metadataAnswer(
  account: Account,
  keys: Map<string, { readonly secret: string; readonly endsAt?: number }>,
  { method, url: { pathname }, header = () => undefined }: SimulatedRequest,
): Answer {
  const text = (body: string): Answer => ({ status: 200, body, headers: { "content-type": "text/plain" } });
  const self = account.instances.get(account.self ?? "");
  if (self === undefined) return { status: 404 };
  if (pathname === "/latest/api/token") return method === "PUT" ? text(token) : { status: 405 };
  if (header("x-aws-ec2-metadata-token") !== token) return { status: 401 };
  if (pathname === credentialsPath) return text(role);
  if (pathname === credentialsPath + role) {
    const id = account.id("ASIA");
    const endsAt = account.ids.clock.now() + life;
    keys.set(id, { secret: `secret-of-${id}`, endsAt });
    return text(
      JSON.stringify({
        Code: "Success",
        AccessKeyId: id,
        SecretAccessKey: `secret-of-${id}`,
        Token: `token-of-${id}`,
        Expiration: new Date(endsAt).toISOString(),
      }),
    );
  }
  if (pathname === "/latest/dynamic/instance-identity/document")
    return text(JSON.stringify({ instanceId: self.id, region, availabilityZone: self.zone }));
  throw new Refused(404, "not found");
}
