// The instance metadata service, in its second version: the credentials of the machine's role, and facts about the machine.

import { type Call, CloudError, type CloudRequest, type CloudTransport, type Context, seconds } from "#ccm";
import type { Settings } from "../settings.ts";

/** The machine's identity. */
export interface OwnInstance {
  readonly instanceId: string;
  readonly region: string;
}

const tokenLife = seconds(21_600);

function get(base: string, path: string): CloudRequest {
  return { operation: `GET ${path}`, mutates: false, method: "GET", url: base.replace(/\/+$/, "") + path };
}

async function textOf(request: CloudRequest, response: Response): Promise<string> {
  const { operation } = request;
  if (response.ok) return response.text();
  const kind =
    response.status === 401 ? "unauthorized" : response.status === 404 ? "not-found" : "unavailable";
  throw new CloudError(kind, `${operation}: the instance metadata service answered ${response.status}.`, {
    operation,
    status: response.status,
  });
}

/** The object in a response; empty if the response is not an object. */
export function parsed<T extends object>(text: string): Partial<T> {
  try {
    return Object(JSON.parse(text));
  } catch {
    // The parser's message may quote a secret.
    return {};
  }
}

export class InstanceMetadata {
  readonly #base: string;
  readonly #isDisabled: boolean;
  readonly #transport: CloudTransport;

  constructor(settings: Settings, account: Context["account"]) {
    this.#base = settings["metadata-endpoint"];
    this.#isDisabled = settings["metadata-disabled"];
    const { transport } = account<string>({
      name: "metadata",
      fetch: async (plain, call) => {
        const path = "/latest/api/token";
        const request = { ...get(this.#base, path), operation: `PUT ${path}`, method: "PUT" };
        const headers = { "x-aws-ec2-metadata-token-ttl-seconds": String(tokenLife / 1000) };
        const value = await plain({ ...request, headers }, call, (response) => textOf(request, response));
        return { value, goodUntil: { in: tokenLife } };
      },
      sign: (request, token) => ({
        ...request,
        headers: { ...request.headers, "x-aws-ec2-metadata-token": token },
      }),
    });
    this.#transport = transport;
  }

  async #read(path: string, call: Call): Promise<string> {
    const request = get(this.#base, path);
    if (this.#isDisabled)
      throw new CloudError(
        "unauthorized",
        "There are no credentials: none are set, and the instance metadata service is disabled (AWS_EC2_METADATA_DISABLED). Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile, or a web identity.",
        { operation: request.operation },
      );
    return this.#transport(request, call, (response) => textOf(request, response));
  }

  /** The response with the credentials of this machine's role. */
  async credentials(call: Call): Promise<string> {
    const path = "/latest/meta-data/iam/security-credentials/";
    const [role = ""] = (await this.#read(path, call)).trim().split("\n");
    return this.#read(path + encodeURIComponent(role), call);
  }

  async ownInstance(call: Call): Promise<OwnInstance> {
    const path = "/latest/dynamic/instance-identity/document";
    const { instanceId, region } = parsed<OwnInstance>(await this.#read(path, call));
    if (!instanceId || !region)
      throw new CloudError("unavailable", `GET ${path} returned no instance and region; check for a proxy.`, {
        operation: `GET ${path}`,
      });
    return { instanceId, region };
  }
}
