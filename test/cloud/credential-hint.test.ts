import { expect, test } from "bun:test";
import { fake } from "../../providers/fake/index.ts";
import { connectCloud } from "../../src/app/connect-cloud.ts";
import type { CloudSources } from "../../src/app/flags/read-flags.ts";
import { credentialHint } from "../../src/cloud/credential-hint.ts";
import { secret, text } from "../../src/core/fields.ts";
import { seededRandom } from "../../src/platform/random.ts";
import { CloudError } from "../../src/provider/errors.ts";
import type { AnyProvider } from "../../src/provider/provider.ts";
import { VirtualClock } from "../../src/testing/virtual-time/virtual-clock.ts";

const url = "http://127.0.0.1:8620/v1/machines";

/** The message of a listing to which the cloud responds with this status, by the source of the token. */
const messageOf = async (
  status: number,
  { environment = {}, ...sources }: Partial<CloudSources> & { readonly environment?: Record<string, string> },
): Promise<string> => {
  const { signal } = new AbortController();
  const { connected } = connectCloud(
    fake as unknown as AnyProvider,
    { environment, given: new Map(), cluster: "prod", ...sources },
    {
      transport: async () => Response.json({ error: { code: "no", message: "no such token" } }, { status }),
      clock: new VirtualClock(),
      random: seededRandom(1),
      mayMutate: () => true,
      report: () => undefined,
      signal,
    },
  );
  const listing = connected?.cloud.instances?.sources[0]?.list({ signal, urgency: "refresh" });
  try {
    for await (const _ of listing ?? []);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("The listing has succeeded.");
};

const file = {
  file: { token: "x" },
  places: new Map([["token", { file: "/etc/fairlead.yaml", line: 4, column: 10 }]]),
};

const restart = ", and restart the manager";

test.each<[string, string, Parameters<typeof messageOf>[1]]>([
  ["the variable FAKE_TOKEN", restart, { environment: { FAKE_TOKEN: "x" }, ...file }],
  ["--config-set", restart, { environment: { FAKE_TOKEN: "x" }, given: new Map([["token", "x"]]) }],
  ["/etc/fairlead.yaml:4:10", "; the manager reads it again without a restart", file],
])(
  "the hint for rejected credentials names the endpoint, the setting and its source: %s",
  async (source, how, sources) => {
    expect(await messageOf(401, sources)).toBe(
      `The cloud rejected the credentials (401 from GET ${url}: no such token). The setting token is set by ${source}: the value was probably revoked, or is incomplete. Replace it with one that is valid for the same project, account or server${how}.`,
    );
  },
);

test("the hint for rejected credentials names the settings to use when no credential is set", async () => {
  expect(await messageOf(401, {})).toBe(
    `The cloud rejected the credentials (401 from GET ${url}: no such token). The setting token is not set: set the variable FAKE_TOKEN, or cloud.token in the --config file.`,
  );
});

test("a forbidden operation is reported with its endpoint, and with the credentials that lack its permission", async () => {
  expect(await messageOf(403, { environment: { FAKE_TOKEN: "x" } })).toBe(
    `The cloud refused GET /machines (403 from GET ${url}: no such token). The setting token is set by the variable FAKE_TOKEN: grant these credentials the permission for GET /machines.`,
  );
});

test("the hint for rejected credentials from a file names the setting that contains the path", () => {
  const fields = { token: secret("API token."), "token-file": text("A file with the token.") };
  const hint = credentialHint(fields, (name) =>
    name === "token-file" ? [{ name, source: "--config-set" }] : [],
  );
  expect(hint?.(new CloudError("unauthorized", "no", { operation: "GET /x" }))).toBe(
    "The setting token-file is set by --config-set: the value was probably revoked, or is incomplete. Replace it with one that is valid for the same project, account or server; the manager reads it again without a restart.",
  );
});

test("other errors, and providers without secrets, have no credential hint", () => {
  const fields = { endpoint: text("URL of the API.") };
  expect(credentialHint(fields, () => [])).toBeUndefined();
  const hint = credentialHint({ ...fields, token: secret("API token.") }, () => []);
  expect(hint?.(new CloudError("quota", "no", { operation: "GET /x" }))).toBeUndefined();
});

test("the hint for an untrusted certificate names the settings that make it trusted", () => {
  const fields = { "ca-file": text("CA."), thumbprint: text("Fingerprint."), token: secret("API token.") };
  const cause = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  const failed = (detail: object) => new CloudError("unavailable", "no", { operation: "Login", ...detail });
  const hint = credentialHint(fields, () => []);
  expect(hint?.(failed({ cause }))).toBe("Or make it trusted with the setting ca-file or thumbprint.");
  expect(hint?.(failed({}))).toBeUndefined();
});
